"""The end of snapshots that profiles had taken, after that of their sandbox."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.domain.snapshots.turns import AgentTurn
from atoll.services.snapshots.keeper import SnapshotRequest
from atoll.services.snapshots.snapshots import SnapshotUpkeep
from atoll.wire.words.sandboxes import State
from tests.services.snapshots.test_disk_bound import Stage, stage

WEEK = 7 * 24 * 3600
AUTOMATIC = SnapshotRequest(automatic=True)
REQUESTS = [
    SnapshotRequest(name="mine"),
    SnapshotRequest(name="short", ttl_seconds=10),
    AUTOMATIC,
    SnapshotRequest(automatic=True, turn=AgentTurn("codex", "t_0", 1)),
]


async def enter(s: Stage, sandbox: Sandbox, state: State) -> None:
    async with s.scene.store.begin() as rows:
        await rows.sandboxes.update(replace(sandbox, state=state))


async def kept(s: Stage, *snapshots: Snapshot) -> list[Snapshot]:
    """Return those of these that are kept, as they are stored."""
    async with s.scene.store.read() as rows:
        stored = [await rows.snapshots.get(each.id) for each in snapshots]
    return [each for each in stored if each is not None]


async def test_those_of_a_destroyed_sandbox_go_after_its_retention_and_a_persons_stay() -> None:
    async with stage(0) as s:
        sandbox = await s.sandbox()
        mine, short, auto, turn = [await s.take(sandbox, each) for each in REQUESTS]
        upkeep = SnapshotUpkeep(s.scene.ground, s.keeper, None)
        await enter(s, sandbox, State.DESTROYED)
        await upkeep.look()
        end = s.scene.clock.now() + timedelta(seconds=WEEK)
        ends = [each.expires_at for each in await kept(s, mine, short, auto, turn)]
        assert ends == [None, short.expires_at, end, end]
        # The end is that of the first look.
        s.scene.clock.turn(WEEK - 1)
        await upkeep.look()
        assert [each.name for each in await kept(s, mine, short)] == ["mine"]
        assert [each.expires_at for each in await kept(s, auto, turn)] == [end, end]
        s.scene.clock.turn(1)
        await upkeep.look()
        assert await kept(s, mine, short, auto, turn) == [mine]
        assert s.extension.disks == {mine.id}
        s.scene.clock.turn(50 * WEEK)
        await upkeep.look()
        assert await kept(s, mine) == [mine]


@pytest.mark.parametrize("state", [each for each in State if each is not State.DESTROYED])
async def test_those_of_a_sandbox_that_is_there_have_no_end(state: State) -> None:
    async with stage(0) as s:
        sandbox = await s.sandbox()
        auto = await s.take(sandbox, AUTOMATIC)
        await enter(s, sandbox, state)
        upkeep = SnapshotUpkeep(s.scene.ground, s.keeper, None)
        await upkeep.look()
        s.scene.clock.turn(50 * WEEK)
        await upkeep.look()
        assert await kept(s, auto) == [auto]


async def test_retention_is_that_of_the_sandboxs_own_profile() -> None:
    async with stage(0) as s:
        plain = await s.sandbox()
        ttl = replace(plain.profile.ttl, retention_seconds=60)
        sandbox = replace(plain, profile=replace(plain.profile, ttl=ttl))
        await enter(s, sandbox, State.STOPPED)
        auto = await s.take(sandbox, AUTOMATIC)
        await enter(s, sandbox, State.DESTROYED)
        upkeep = SnapshotUpkeep(s.scene.ground, s.keeper, None)
        await upkeep.look()
        s.scene.clock.turn(59)
        await upkeep.look()
        assert len(await kept(s, auto)) == 1
        s.scene.clock.turn(1)
        await upkeep.look()
        assert await kept(s, auto) == [] and s.extension.disks == set()


async def test_disk_that_cannot_be_dropped_now_is_dropped_later() -> None:
    async with stage(0) as s:
        sandbox = await s.sandbox()
        auto = await s.take(sandbox, AUTOMATIC)
        await enter(s, sandbox, State.DESTROYED)
        upkeep = SnapshotUpkeep(s.scene.ground, s.keeper, None)
        await upkeep.look()
        s.scene.clock.turn(WEEK)
        s.extension.failing = True
        await upkeep.look()
        assert s.extension.disks == {auto.id}
        s.extension.failing = False
        await upkeep.look()
        assert await kept(s, auto) == [] and s.extension.disks == set()
