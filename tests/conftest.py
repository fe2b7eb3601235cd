"""What holds for every test here."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from tests.peers.leftovers import Folders

# A slow example on a busy machine is no wrong answer; whole tests have their own timeout.
settings.register_profile("atoll", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("atoll")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--looks",
        choices=("some", "all"),
        default="some",
        help="test the page in light and dark colours, on a desktop and on a phone: all four",
    )


said: list[str] = []


@pytest.fixture(scope="session")
def summary() -> Callable[[str], None]:
    """Print a line at the end of the run, whether tests fail or not: seeds above all."""
    return said.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in said:
        terminalreporter.write_line(line)


FOLDERS = Folders()


def pytest_sessionstart() -> None:
    FOLDERS.watch()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run whose tests left something on the machine, and name the tests."""
    FOLDERS.unwatch()
    left = FOLDERS.leftovers()
    if left:
        print("\nLeft on this machine:", *left, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
