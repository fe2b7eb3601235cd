"""How long the oracles search, and with which seed; both are printed at the end of a run."""

import os
import secrets
from collections.abc import Callable
from random import Random
from typing import Protocol

import pytest

from tests.bounds import patience, rounds
from tests.redaction.world import Case, smaller

SECONDS = patience("ATOLL_REDACTION_SECONDS", 60)
"""For each oracle; 3600 for the long run (docs/trust/security.md)."""

CASES = 160
"""For each oracle in the usual run."""

SEED = int(os.environ.get("ATOLL_REDACTION_SEED") or secrets.randbits(32))
"""Of the first case. The next ones have the numbers after it."""

Check = Callable[[Case], None]


class World(Protocol):
    """What cases are made of."""

    def case(self, chance: Random) -> Case: ...


class Search(Protocol):
    """Search for a case that a check finds wrong: a `share` of the oracle's cases or time."""

    def __call__(self, world: World, check: Check, *, share: float = 1.0) -> None: ...


def wrong(check: Check, case: Case) -> AssertionError | None:
    """Return what a check finds wrong with a case, if anything."""
    try:
        check(case)
    except AssertionError as error:
        return error
    return None


def smallest(check: Check, case: Case) -> Case:
    """Return the case with all left out that is not needed for the check to fail."""
    while True:
        for less in smaller(case):
            if wrong(check, less) is not None:
                case = less
                break
        else:
            return case


def look(world: World, check: Check, share: float) -> int:
    """Return how many cases were checked. Raises for a wrong one, which is then the smallest that
    is still wrong."""
    number = 0
    for number in rounds("ATOLL_REDACTION_SECONDS", int(CASES * share), share=share):
        case = world.case(Random(SEED + number))
        if wrong(check, case) is not None:
            case = smallest(check, case)
            where = f"seed {SEED + number}, at its smallest: {case}"
            raise AssertionError(where) from wrong(check, case)
    return number + 1


@pytest.fixture
def search(request: pytest.FixtureRequest, summary: Callable[[str], None]) -> Search:
    """Search under the test's name, which the summary shows."""

    def named(world: World, check: Check, *, share: float = 1.0) -> None:
        found = "something wrong"
        try:
            found = f"{look(world, check, share)} cases right"
        finally:
            summary(f"redaction: {request.node.name}: {found}, from seed {SEED} on")

    return named


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "search" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(SECONDS * 2 + 300))
