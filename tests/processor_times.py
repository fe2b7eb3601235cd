"""A pytest plugin that measures the processor time of each test, with all the processes it started.

`scripts/test --times` loads it, and says by `ATOLL_CPU_USAGE` which file of the kernel counts.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

from scripts.testing.processor_time import seconds_of

TIMES: dict[str, float] = {}


def used_seconds() -> float:
    """Return the processor time that this process and what it started have used."""
    if counter := os.environ.get("ATOLL_CPU_USAGE"):
        return seconds_of(Path(counter).read_text())
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    before = used_seconds()
    TIMES.setdefault("(start and collection)", before)
    try:
        return (yield)
    finally:
        TIMES[item.nodeid] = used_seconds() - before


def pytest_unconfigure() -> None:
    Path(os.environ["ATOLL_CPU_TIMES"]).write_text(json.dumps(TIMES))
