"""Rounds of a race in lanes, and what must hold of a sandbox after each.

A lane has its own sandboxes, so that rounds of several go on beside each other. The seed is printed
by a failure: `ATOLL_RACE_SEED` repeats the dice, as far as a race can be repeated.
"""

import asyncio
import os
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.e2e.races.accesses import Box, Caller
from tests.peers.api import Pauses
from tests.peers.remains import pids_of

SEED = int(os.environ.get("ATOLL_RACE_SEED", 0)) or random.SystemRandom().randrange(1, 2**32)
MANY = int(os.environ.get("ATOLL_RACES", 1000))
MOST_LANES = 4

PATIENCE = 60.0


def counts(usual: int) -> pytest.MarkDecorator:
    """Return the parameter `count`: the rounds of the usual run, and of the slow tier."""
    many = pytest.param(MANY, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(4 * 3600)])
    return pytest.mark.parametrize("count", [pytest.param(usual, id="some"), many])


async def run_lanes(
    count: int,
    lane: Callable[[random.Random, int], Coroutine[None, None, None]],
    *,
    width: int = MOST_LANES,
) -> None:
    """Run so many rounds in lanes. A lane is called with its dice and the number of its rounds."""
    width = min(width, max(1, count // 4))
    shares = [count // width + (number < count % width) for number in range(width)]
    async with asyncio.TaskGroup() as lanes:
        for number, share in enumerate(shares):
            lanes.create_task(lane(random.Random(SEED + number), share))


def runtimes(box: Box) -> int:
    """Return how many runtimes a sandbox has."""
    return len(pids_of(frozenset({box.runtime_uid})))


def walls(box: Box) -> int:
    """Return how many walls a sandbox has: each has one init."""
    names = []
    for pid in pids_of(frozenset({box.sandbox_uid})):
        try:
            names.append(Path(f"/proc/{pid}/comm").read_text().strip())
        except OSError:
            continue
    return names.count("bwrap")


def know(caller: Caller, box: Box) -> Box:
    """Note under which uids a sandbox runs, and return it."""
    uid = caller.api.box(box.id).host_uid
    box.sandbox_uid, box.runtime_uid = uid, uid - 1
    return box


async def look_at(box: Box, delay: float) -> None:
    """Check in the midst of a round that nothing runs twice."""
    await asyncio.sleep(delay)
    assert runtimes(box) <= 1, f"{runtimes(box)} runtimes of {box.id}"
    assert walls(box) <= 1, f"{walls(box)} walls of {box.id}"


async def runs_once(caller: Caller, box: Box) -> None:
    """Check that a sandbox answers an access, with all its files, and has one runtime."""
    await caller.execute(box)
    assert (runtimes(box), walls(box)) == (1, 1), f"{runtimes(box)}, {walls(box)} of {box.id}"


async def sleeps_and_wakes(caller: Caller, box: Box, *, often: bool = False) -> None:
    """Check that a sandbox sleeps without a process, and wakes with all its files. One that sleeps
    `often` by itself may do so again at once."""
    told = await caller.act(box, "sleep")
    assert told["asleep"], told
    await has_ended(box)
    if often:
        await caller.execute(box)
    else:
        await runs_once(caller, box)


@asynccontextmanager
async def stays_awake(caller: Caller, box: Box) -> AsyncIterator[None]:
    """Use a sandbox to the end of the block."""
    waits = {"shell": "until [ -e /tmp/over ]; do sleep 0.05; done", "background": True}
    await caller.call("POST", f"/v1/sandboxes/{box.id}/exec", json=waits)
    yield
    await caller.shell(box.id, "touch /tmp/over")


async def has_ended(box: Box) -> None:
    """Wait until nothing of a sandbox runs."""
    pauses = Pauses()
    async with asyncio.timeout(PATIENCE):
        while pids_of(frozenset({box.runtime_uid, box.sandbox_uid})):
            await pauses.wait()
