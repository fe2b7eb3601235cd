"""How long a random search goes on: for some rounds in the usual run, for a time in a longer one.

Rounds cost the same on every machine and beside any load, and what a seed found is found again.
"""

import itertools
import os
import time
from collections.abc import Iterator


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


def patience(variable: str, usual: float) -> float:
    """Return seconds that a search may take: those of the variable, or the usual ones."""
    return float(os.environ.get(variable, usual))
