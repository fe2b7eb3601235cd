"""Accesses at the instant at which a sandbox sleeps, expires, is destroyed or kept as a snapshot,
and at which a pool is filled again.

Nobody sees an empty or half workspace, no sandbox has two runtimes, and each sleeps and wakes once
more at the end. `ATOLL_RACES` is how many rounds of each the slow tier has.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.e2e.races.accesses import Box, Caller, caller_of
from tests.e2e.races.lanes import (
    SEED,
    counts,
    has_ended,
    know,
    look_at,
    run_lanes,
    runs_once,
    sleeps_and_wakes,
    stays_awake,
)
from tests.peers.api import Api

IDLE_SECONDS = 2
"""More than passes between two requests of one tool's call on a busy machine."""

LIFE_SECONDS, HALF_HOUR = 8, 1800
DROWSY = f"""\
id: profile.drowsy
version: "1.0.0"
extension: ext.namespaces
ttl: {{default: 1h, max: 2h, idle_stop: {IDLE_SECONDS}s}}
idle_action: sleep
"""
BRIEF = f"""\
id: profile.brief
version: "1.0.0"
extension: ext.namespaces
ttl: {{default: {LIFE_SECONDS}s, max: 2h, retention: 1h}}
"""
PROFILES = {"drowsy": DROWSY, "brief": BRIEF}
POOL, MOST_POOLED = "/v1/pools/shell", 3
NOBODY = "503 port_not_listening"
"""What ran in a sandbox has ended when it wakes, the server behind a preview, too."""

PUT_TO_SLEEP = frozenset({"cut", NOBODY, "0 asleep", "0 not_ready"})
"""Refusals of calls that were under way when somebody ended them. A tool's call looks at its
command several times, so it sees what came after, too."""

ENDED = frozenset({"cut", "409 not_running", "0 not_running", "4409 closed", "1000 closed", NOBODY})
ENDED_OR_STARTED = ENDED | {"409 conflict", "503 not_ready", "0 not_ready", "4404 closed"}
GONE = ENDED | {"404 not_found", "0 not_found", "4404 closed", "409 conflict"}
SPREAD = (-0.03, 0.25)
"""Seconds before and after an end within which accesses come."""


@pytest.fixture
async def caller(api: Api) -> AsyncIterator[Caller]:
    """Somebody who uses sandboxes. What became of that is printed."""
    async with caller_of(api) as made:
        yield made
    print(f"ATOLL_RACE_SEED={SEED}", *sorted(made.outcomes.items()), sep="\n  ")


async def race(
    caller: Caller,
    box: Box,
    dice: random.Random,
    end: Callable[[], Awaitable[Any]],
    *,
    may: frozenset[str],
    keeps: float = 0.0,
) -> None:
    """Have an end come beside every kind of access, each a moment before or after it; beside them
    it is kept as a snapshot, as often as `keeps` says."""
    accesses = (*caller.accesses(), *((caller.keep,) if dice.random() < keeps else ()))
    first, last = SPREAD
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_act_in(-first, end))
        for access in accesses:
            delay = dice.uniform(first, last) - first
            tasks.create_task(caller.at(delay, access, box, may=may))
        tasks.create_task(look_at(box, dice.uniform(0, last)))


async def _act_in(seconds: float, act: Callable[[], Awaitable[Any]]) -> None:
    await asyncio.sleep(seconds)
    await act()


@counts(2)
async def test_access_as_it_is_put_to_sleep(caller: Caller, count: int) -> None:
    async def lane(dice: random.Random, rounds: int) -> None:
        box = know(caller, await caller.make())
        for _ in range(rounds):
            await race(caller, box, dice, lambda: caller.act(box, "sleep"), may=PUT_TO_SLEEP)
            await runs_once(caller, box)
        await sleeps_and_wakes(caller, box)

    await run_lanes(count, lane)


@counts(2)
async def test_access_as_it_falls_asleep(caller: Caller, count: int) -> None:
    async def lane(dice: random.Random, rounds: int) -> None:
        box = know(caller, await caller.make(profile="drowsy"))
        for _ in range(rounds):
            async with asyncio.TaskGroup() as tasks:
                for access in dice.sample(caller.accesses(), k=dice.randint(1, 3)):
                    # About as nobody has used it for so long.
                    delay = IDLE_SECONDS + dice.uniform(-0.15, 0.25)
                    tasks.create_task(caller.at(delay, access, box, may=frozenset({NOBODY})))
                tasks.create_task(look_at(box, IDLE_SECONDS + dice.uniform(-0.1, 0.4)))
            await caller.execute(box)
        async with stays_awake(caller, box):
            await runs_once(caller, box)
        await sleeps_and_wakes(caller, box, often=True)

    await run_lanes(count, lane, width=12)


@counts(2)
async def test_access_as_it_expires(caller: Caller, count: int) -> None:
    async def lane(dice: random.Random, rounds: int) -> None:
        ends = {"harness": "races", "session_id": f"{SEED}-{dice.random()}"}
        box = know(caller, await caller.make(scope="session", consumer=ends))

        async def expire() -> None:
            ended = await caller.call("POST", "/v1/consumers/end", json=ends)
            assert [each["state"] for each in ended["sandboxes"]] == ["expired"]

        for _ in range(rounds):
            await race(caller, box, dice, expire, may=ENDED, keeps=0.2)
            await caller.renew(box)
            await runs_once(caller, box)
        await sleeps_and_wakes(caller, box)

    await run_lanes(count, lane)


@counts(1)
async def test_access_and_extension_as_its_time_is_over(caller: Caller, count: int) -> None:
    """The clock ends it, somebody extends it or starts it."""
    making = asyncio.Lock()

    async def lane(dice: random.Random, rounds: int) -> None:
        async with making:
            # Many at once would be over before they are made.
            box = know(caller, await caller.make(profile="brief", ttl=LIFE_SECONDS))
        for _ in range(rounds):
            left = caller.seconds_until(await caller.renew(box))
            more = dice.choice((caller.start, caller.extend, caller.keep))
            async with asyncio.TaskGroup() as tasks:
                for access in (*caller.accesses(), more):
                    delay = left + dice.uniform(-0.1, 0.2)
                    tasks.create_task(caller.at(delay, access, box, may=ENDED_OR_STARTED))
                tasks.create_task(look_at(box, left + dice.uniform(-0.1, 0.4)))
            await caller.read(box)
        await caller.extend(box, HALF_HOUR)
        await caller.renew(box)
        await caller.extend(box, HALF_HOUR)
        await runs_once(caller, box)
        await sleeps_and_wakes(caller, box)

    await run_lanes(count, lane, width=16)


@counts(2)
async def test_access_as_it_is_destroyed(caller: Caller, count: int) -> None:
    async def lane(dice: random.Random, rounds: int) -> None:
        for _ in range(rounds):
            box = know(caller, await caller.make())
            destroy = partial(caller.act, box, "destroy")
            await race(caller, box, dice, destroy, may=GONE, keeps=0.2)
            told = await caller.call("GET", f"/v1/sandboxes/{box.id}")
            assert told["state"] == "destroyed", told
            await has_ended(box)
            assert not (caller.api.server.home / "boxes" / box.id).exists()

    await run_lanes(count, lane)


@counts(1)
async def test_access_as_it_is_kept_as_a_snapshot(caller: Caller, count: int) -> None:
    async def lane(dice: random.Random, rounds: int) -> None:
        box = know(caller, await caller.make())
        for _ in range(rounds):

            async def ends() -> None:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(caller.keep(box))
                    if dice.random() < 0.5:
                        await asyncio.sleep(dice.uniform(0, 0.05))
                        await caller.act(box, "sleep")

            await race(caller, box, dice, ends, may=PUT_TO_SLEEP)
            await runs_once(caller, box)
        await sleeps_and_wakes(caller, box)

    await run_lanes(count, lane)


@pytest.fixture
def pool(api: Api) -> Iterator[str]:
    """A pool of sandboxes, which is there for the test alone."""
    api.call("PUT", POOL, json={"min": 2, "max": MOST_POOLED})
    yield POOL
    api.call("DELETE", POOL)


@counts(2)
async def test_access_as_a_pool_is_filled_again(caller: Caller, pool: str, count: int) -> None:
    given: list[str] = []

    async def lane(dice: random.Random, rounds: int) -> None:
        for _ in range(rounds):
            # The leader looks once a second: it builds before, beside or after this.
            await asyncio.sleep(dice.uniform(0, 1.2))
            box = know(caller, await caller.make(env={"LANE": str(len(given))}))
            given.append(box.id)
            await race(caller, box, dice, _look_at_pool, may=frozenset({NOBODY}))
            await runs_once(caller, box)
            await caller.act(box, "destroy")
            await has_ended(box)

    async def _look_at_pool() -> None:
        told = await caller.call("GET", pool)
        assert told["ready"] + told["building"] <= MOST_POOLED, told

    await run_lanes(count, lane)
    assert len(set(given)) == len(given) == count
    told = await caller.call("GET", pool)
    print(f"of {count} {told['taken']} came of the pool")
