"""What of a search or a matrix the usual run has: some rounds, and some members.

A search goes on for rounds, or for a time in a longer run. Rounds cost the same on every machine
and beside any load, and what a seed found is found again.
"""

import itertools
import os
import time
from collections.abc import Iterable, Iterator

import pytest
from _pytest.mark import ParameterSet


def rounds(variable: str, usual: int, *, share: float = 1.0) -> Iterator[int]:
    """Yield numbers from 0 on: `usual` of them, or as many as fit in a share of the seconds that
    the variable gives. At least one."""
    seconds = os.environ.get(variable)
    if seconds is None:
        yield from range(max(1, usual))
        return
    ends = time.monotonic() + float(seconds) * share
    for number in itertools.count():
        yield number
        if time.monotonic() >= ends:
            return


def examples(usual: int) -> int:
    """Return the number of examples of a property: `usual`, times what `ATOLL_EXAMPLES` says."""
    return usual * int(os.environ.get("ATOLL_EXAMPLES") or 1)


def patience(variable: str, usual: float) -> float:
    """Return seconds that a search may take: those of the variable, or the usual ones."""
    return float(os.environ.get(variable, usual))


def matrix(values: Iterable[object], *usual: object) -> list[ParameterSet]:
    """Return the parameters of a matrix: of them the usual run has `usual`, the slow tier all."""
    return [
        pytest.param(value, id=str(value), marks=() if value in usual else pytest.mark.slow)
        for value in values
    ]
