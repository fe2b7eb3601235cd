"""The report of a check: what was run, against what, and how it ended; as JSON."""

import sys
import time
from typing import Final, Literal

import msgspec
import pytest

Against = Literal["real", "vendor's code", "peer"]
Suite = Literal["extension", "spawner", "wall", "link"]

SUITES: Final[tuple[Suite, ...]] = ("extension", "spawner", "wall", "link")
WALL: Final = frozenset(
    {
        "test_runtime_refuses_a_caller_without_its_token",
        "test_mount_is_shown_and_cannot_be_written",
        "test_doors_are_owned_from_the_first_moment",
        "test_token_is_nowhere_inside",
        "test_network_that_is_closed_reaches_nobody_here",
        "test_isolation_is_that_of_the_capabilities_or_weaker",
    }
)
"""Tests of what separates inside from outside."""

NO_LINK = "its runtime is reached by an address: no link of ours leads there"


class TestResult(msgspec.Struct, frozen=True):
    """A test that was skipped or failed, and why."""

    __test__ = False

    test: str
    reason: str


class SuiteResult(msgspec.Struct, frozen=True):
    """The result of one suite. `not_run` says why it was left out."""

    suite: Suite
    passed: int = 0
    failed: tuple[TestResult, ...] = ()
    skipped: tuple[TestResult, ...] = ()
    not_run: str = ""


class CheckReport(msgspec.Struct, frozen=True):
    """A check. `version` is the extension's, `at` the time it began (RFC 3339); `tests` names every
    test that there was, so that a later Atoll with more of them sees that this one is old."""

    extension: str
    package: str
    version: str
    atoll: str
    at: str
    against: Against
    note: str
    isolation: str
    abilities: tuple[str, ...]
    seconds: float
    suites: tuple[SuiteResult, ...]
    tests: tuple[str, ...]
    cleaned: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Report whether nothing failed, something ran, and nothing is left."""
        ran = sum(suite.passed for suite in self.suites)
        return ran > 0 and not self.leftovers and not any(suite.failed for suite in self.suites)


class Collector:
    """A pytest plugin that keeps how each test ended, and says so as it goes on."""

    def __init__(self) -> None:
        self._out = sys.stdout
        self._began = 0.0
        self.ended: dict[str, tuple[str, str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst phase of a test."""
        name = report.nodeid.rpartition("::")[2]
        if report.failed:
            self.ended[name] = ("failed", _last_line(report.longreprtext))
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.ended[name] = ("skipped", str(reason).removeprefix("Skipped: "))
        elif report.when == "call":
            self.ended.setdefault(name, ("passed", ""))
        if report.when == "teardown":
            how = self.ended[name][0]
            seconds = time.monotonic() - self._began
            print(f"  {how:<8}{seconds:6.1f} s  {name}", file=self._out, flush=True)

    def pytest_runtest_logstart(self) -> None:
        """Note when a test begins."""
        self._began = time.monotonic()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say why the suites cannot be loaded."""
        if report.failed:
            print(report.longreprtext[-2000:], file=self._out, flush=True)

    def suites(self, extension_tests: frozenset[str], *, linked: bool) -> tuple[SuiteResult, ...]:
        """Return the results by suite."""
        by_suite: dict[Suite, list[tuple[str, str, str]]] = {suite: [] for suite in SUITES}
        for name, (how, why) in self.ended.items():
            by_suite[_suite_of(name, extension_tests)].append((name, how, why))
        if not linked:
            by_suite.pop("link")
        results = tuple(_count_results(suite, ended) for suite, ended in by_suite.items())
        return results if linked else (*results, SuiteResult("link", not_run=NO_LINK))


def _suite_of(name: str, extension_tests: frozenset[str]) -> Suite:
    if name in WALL:
        return "wall"
    if name.startswith("test_link_"):
        return "link"
    return "extension" if name.partition("[")[0] in extension_tests else "spawner"


def _count_results(suite: Suite, ended: list[tuple[str, str, str]]) -> SuiteResult:
    def those(wanted: str) -> tuple[TestResult, ...]:
        return tuple(TestResult(name, why) for name, how, why in ended if how == wanted)

    return SuiteResult(suite, len(those("passed")), those("failed"), those("skipped"))


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.startswith("E ")]
    return (lines[-1][1:].strip() if lines else text.strip()[-200:])[:500]
