"""Claims, deaths and kills of a pool's care at random: nothing in a pool is given twice, while it
is built, to a profile of another shape, or beyond the most that the pool may have.

`ATOLL_POOL_SEED` repeats the dice, `ATOLL_POOL_CLAIMS` is how many claims the slow tier makes.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.pools.pool import PooledState, PoolSize, wall_of
from atoll.ports import Handle, Provision
from atoll.services.hosts.pool_upkeep import AFTER_FAILURE, LOOK_AGAIN
from atoll.services.provisioning.teardowns import LONGEST_RETRY_SECONDS
from atoll.wire.words.sandboxes import Access
from tests.services.hosts.test_pools import Kept, kept, services_of

SEED = int(os.environ.get("ATOLL_POOL_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
CLAIMS = int(os.environ.get("ATOLL_POOL_CLAIMS", "10000"))
SIZE = PoolSize(3, 6)
PROFILE = """\
id: profile.mine
version: '{0}.0.0'
extension: ext.in-memory
isolation: {{level: none}}
resources: {{pids: {0}}}
"""
Act: TypeAlias = Callable[[], Coroutine[None, None, None]]


@dataclass
class Watch:
    """What a backend is asked for: which environments it builds, and who gets them."""

    building: set[SandboxId] = field(default_factory=set)
    given: Counter[SandboxId] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    own: Kept | None = None

    async def see_build(self, request: Provision) -> None:
        """Look at the pool as an environment is about to be built for it."""
        self.building.add(request.sandbox_id)
        assert self.own is not None
        count = len(await self.own.pooled())
        if count > SIZE.maximum:
            self.faults.append(f"{count} are in the pool")

    def see_provision(self, request: Provision, waiting: Provision | None) -> None:
        """Look at a sandbox that is about to be made of what waits."""
        if request.sandbox_id in self.building:
            self.faults.append(f"{request.sandbox_id} was given while it was built")
        if waiting is None:
            return
        if wall_of(waiting.profile) != wall_of(request.profile):
            self.faults.append(f"{request.sandbox_id} has another shape")
        self.given[request.sandbox_id] += 1


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """A watch over the backend. To build takes it a while."""
    watching = Watch()
    build_pooled, provision = InMemory.build_pooled, InMemory.provision
    dice = random.Random(SEED)

    async def build(self: InMemory, request: Provision) -> Handle:
        known = request.sandbox_id in {each.sandbox_id for each in self.pooled_requests()}
        if known:
            return await build_pooled(self, request)
        await watching.see_build(request)
        for _ in range(dice.randrange(60)):
            await asyncio.sleep(0)
        try:
            return await build_pooled(self, request)
        finally:
            watching.building.discard(request.sandbox_id)

    async def make(self: InMemory, request: Provision) -> Handle:
        waiting = {each.sandbox_id: each for each in self.pooled_requests()}
        watching.see_provision(request, waiting.get(request.sandbox_id))
        return await provision(self, request)

    monkeypatch.setattr(InMemory, "build_pooled", build)
    monkeypatch.setattr(InMemory, "provision", make)
    yield watching


class Storm:
    """Acts on a pool at random."""

    def __init__(self, own: Kept) -> None:
        self.own = own
        self.dice = random.Random(SEED)
        self.claims = 0
        self.version = 64
        self.ids: list[SandboxId] = []
        self._care: asyncio.Task[None] | None = None

    async def run(self, count: int) -> None:
        """Do what comes, several things at once, until so many sandboxes were made."""
        async with asyncio.TaskGroup() as tasks:
            while self.claims < count:
                if self._care is None or self._care.done():
                    self._care = tasks.create_task(self._look())
                acts = self.dice.choices(self._acts(), (8, 1, 2, 0.7, 0.3, 4, 0.4), k=3)
                await asyncio.gather(*(act() for act in acts))
                if self.dice.random() < 0.8:
                    await asyncio.wait({self._care})
            await self._restart()

    def _acts(self) -> tuple[Act, ...]:
        return (
            self._claim,
            self._claim_other,
            self._kill,
            self._restart,
            self._change_shape,
            self._wait,
            self._fail,
        )

    async def _claim(self, **more: object) -> None:
        self.claims += 1
        made = await self.own.create("mine", name=f"n{self.claims}", **more)
        self.ids.append(made.id)
        await self.own.scene.sandboxes.destroy(LOCAL_PERSON, made.id)

    async def _claim_other(self) -> None:
        await self._claim(access=Access.READ_ONLY)

    async def _kill(self) -> None:
        """End an environment by itself, whatever it is for."""
        extension = self.own.scene.extension
        alive = [each.sandbox_id for each in extension.pooled_requests()]
        if alive:
            extension.die(self.dice.choice(alive))

    async def _restart(self) -> None:
        """End the control plane's care amid what it does; the next one knows nothing of it."""
        if self._care is not None:
            self._care.cancel()
            await asyncio.wait({self._care})
        self.own.services = services_of(self.own.scene)

    async def _change_shape(self) -> None:
        self.version += 1
        text = PROFILE.format(self.version)
        await self.own.scene.profiles.save(LOCAL_PERSON, "mine", text)

    async def _wait(self) -> None:
        self.own.scene.clock.turn(self.dice.randrange(40))

    async def _fail(self) -> None:
        """Have a call of the backend fail: a build, or an end."""
        if self.dice.random() < 0.5:
            self.own.scene.extension.fail(FailurePoint.BUILD_POOLED, Failed("its disk is full"))
        else:
            self.own.scene.extension.fail(FailurePoint.TEARDOWN, Unavailable("not now"))

    async def _look(self) -> None:
        try:
            await self.own.services.upkeep.look()
        except AtollError:
            # The next look comes by itself.
            return


@pytest.mark.parametrize(
    "count",
    [
        pytest.param(30, id="some"),
        pytest.param(CLAIMS, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(7200)]),
    ],
)
async def test_claims_deaths_and_kills_at_random(tmp_path: Path, watch: Watch, count: int) -> None:
    print(f"ATOLL_POOL_SEED={SEED}")
    async with kept(tmp_path) as own:
        watch.own = own
        await own.scene.profiles.save(LOCAL_PERSON, "mine", PROFILE.format(64))
        await own.services.pools.set(LOCAL_PERSON, "mine", SIZE)
        storm = Storm(own)
        await storm.run(count)
        assert not watch.faults, watch.faults
        assert len(set(storm.ids)) == len(storm.ids) == storm.claims
        assert set(watch.given.values()) <= {1}
        assert watch.given.keys() <= set(storm.ids)
        print(f"of {storm.claims} {len(watch.given)} came of the pool")
        await settles(own, storm.ids)


async def settles(own: Kept, given: list[SandboxId]) -> None:
    """Check that a pool is whole again in the end, and that nothing is left of it when it goes."""
    for each in given:
        # An end that failed is tried again in time.
        own.scene.clock.turn(LONGEST_RETRY_SECONDS)
        await own.scene.until(await own.scene.sandboxes.get(LOCAL_PERSON, each), "destroyed")
    for _ in range(3):
        own.scene.clock.turn((AFTER_FAILURE + LOOK_AGAIN).total_seconds())
        await own.looked("mine")
    assert (await own.looked("mine")).ready in (SIZE.minimum, SIZE.maximum)
    pooled = await own.pooled()
    assert {each.state for each in pooled} == {PooledState.READY}
    places = {handle.sandbox_id for handle in await own.scene.extension.survey()}
    assert own.waiting() == {each.id for each in pooled} == places
    await own.services.pools.remove(LOCAL_PERSON, "mine")
    await own.services.upkeep.look()
    assert await own.pooled() == [] and own.waiting() == set()
    left = [each for each in given if own.scene.extension.kept(each)]
    assert not left, left
