"""What holds for every test here."""

import functools
import gc
import importlib.util
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from types import FrameType

import httpx
import pytest
import structlog
from hypothesis import HealthCheck, settings

from atoll.wiring.timeouts import mend_timeouts
from tests.bounds import examples
from tests.peers.databases import postgres as servers
from tests.peers.leftovers import Folders

mend_timeouts()

# A slow example on a busy machine is no wrong answer; whole tests have their own timeout.
settings.register_profile(
    "atoll",
    deadline=None,
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("atoll")

if importlib.util.find_spec("sniffio") is None:
    # httpcore tries to import it for each request, and the whole path would be searched.
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# Each client would read the certificates of this machine anew, for 10 ms of processor time.
httpx._transports.default.create_ssl_context = functools.cache(  # type: ignore[attr-defined]
    httpx._transports.default.create_ssl_context  # type: ignore[attr-defined]
)

# By default an exception is logged with the source and the values of every frame, for a second of
# processor time each.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        ),
    ]
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        choices=("sqlite", "postgres"),
        default="sqlite",
        help="where tests of services and routes keep their rows",
    )


@pytest.fixture(scope="session")
def postgres() -> Iterator[servers.PostgresServer]:
    """The one server of this run."""
    if reason := servers.missing():
        pytest.skip(reason)
    with servers.serving() as server:
        yield server


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[None]:
    """The database of `--database`, for whoever opens a store at `databases.database_url`."""
    if request.config.getoption("--database") == "sqlite":
        yield
        return
    from tests.peers.databases.chosen import on_postgres

    with on_postgres(request.getfixturevalue("postgres")):
        yield


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
    # A script's background job ignores Ctrl-C, and so would all that the tests start. The handler
    # is our own, as `asyncio.Runner` lays its own over Python's for each fixture, and for that
    # writes out the task's result, which took longer than many tests.
    signal.signal(signal.SIGINT, _interrupted)


def pytest_collection_finish() -> None:
    # What was loaded for the tests stays: no later collection has to walk through it, and those of
    # the young objects of a test need not come as often as in a program that waits.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Leave random tests out of the coverage, which deterministic ones must reach alone. It takes
    twice the time, too."""
    random = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
    coverage = sys.modules.get("coverage")
    measured = coverage and random and coverage.Coverage.current()
    if not measured:
        return (yield)
    measured.stop()
    try:
        return (yield)
    finally:
        measured.start()


def _interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run whose tests left something on the machine, and name the tests."""
    FOLDERS.unwatch()
    left = FOLDERS.leftovers()
    if left:
        print("\nLeft on this machine:", *left, sep="\n  ")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
