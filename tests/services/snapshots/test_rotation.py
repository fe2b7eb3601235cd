"""Snapshots of a rule where the organization's bound is reached: what goes, and what is told."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from atoll.domain.errors import LimitReached, Unavailable
from atoll.domain.event import Event, sandbox_stream
from atoll.domain.ids import OrgId, SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.services.snapshots.keeper import SnapshotRequest
from atoll.services.snapshots.rotation import SnapshotRotation
from atoll.wire.words.sandboxes import SnapshotState
from tests.services.snapshots.test_disk_bound import SIZE, Stage, stage

AUTOMATIC = SnapshotRequest(automatic=True)


async def ruled(s: Stage, sandbox: Sandbox) -> list[Snapshot]:
    """Return those that the rule has, oldest first."""
    async with s.scene.store.read() as rows:
        return await rows.snapshots.automatic(sandbox.id)


async def rotate(s: Stage, rotation: SnapshotRotation, sandbox: Sandbox, keep: int = 5) -> None:
    s.scene.clock.turn(1)
    await rotation.take(sandbox, AUTOMATIC, await ruled(s, sandbox), keep)


async def told(s: Stage, sandbox: Sandbox) -> Sequence[Event]:
    async with s.scene.store.read() as rows:
        events = await rows.events.after(0, 1000, kinds=frozenset({"snapshot.failed"}))
    return [each for each in events if each.stream == sandbox_stream(sandbox.id)]


async def used(s: Stage, org_id: OrgId) -> int:
    async with s.scene.store.read() as rows:
        return await rows.snapshots.disk_use(org_id)


async def test_rule_that_meets_the_bound_drops_its_own_oldest_and_nothing_else() -> None:
    async with stage() as s:
        sandbox, other = await s.sandbox(), await s.sandbox("other")
        rotation = SnapshotRotation(s.keeper)
        mine = await s.take(sandbox, SnapshotRequest(name="mine"))
        theirs = await s.take(other, AUTOMATIC)
        await rotate(s, rotation, sandbox)
        (first,) = await ruled(s, sandbox)
        for _ in range(5):
            (before,) = await ruled(s, sandbox)
            await rotate(s, rotation, sandbox)
            (after,) = await ruled(s, sandbox)
            assert after.created_at > before.created_at
            assert s.extension.disks == {mine.id, theirs.id, after.id}
        assert first.id not in s.extension.disks and await told(s, sandbox) == []
        assert await used(s, sandbox.org_id) == 3 * SIZE


async def test_as_many_of_the_oldest_go_as_make_room_and_no_more() -> None:
    async with stage(0) as s:
        sandbox, rotation = await s.sandbox(), SnapshotRotation(s.keeper)
        for _ in range(5):
            await rotate(s, rotation, sandbox)
        taken = await ruled(s, sandbox)
        # 35 bytes: below 20 are those without the three oldest.
        s.keeper._most_bytes = 20
        await rotate(s, rotation, sandbox)
        left = await ruled(s, sandbox)
        assert [each.id for each in left[:-1]] == [each.id for each in taken[3:]]
        assert len(left) == 3 and s.extension.disks == {each.id for each in left}


async def test_rule_without_room_of_its_own_keeps_what_it_has_and_tells_once() -> None:
    async with stage() as s:
        sandbox, other = await s.sandbox(), await s.sandbox("other")
        rotation = SnapshotRotation(s.keeper)
        await rotate(s, rotation, sandbox)
        held = [await s.take(other, SnapshotRequest(name=f"hidden{each}")) for each in range(2)]
        s.keeper._most_bytes = 2 * SIZE
        kept, before = set(s.extension.disks), await ruled(s, sandbox)
        for _ in range(5):
            await rotate(s, rotation, sandbox)
        assert s.extension.disks == kept and await ruled(s, sandbox) == before
        (failed,) = await told(s, sandbox)
        assert failed.reason is not None and "21 bytes of 14 bytes" in failed.reason
        # Whoever sees the sandbox reads it: it names nothing of others.
        assert "hidden" not in failed.reason
        assert failed.payload["snapshot_id"] not in {each.id for each in before}
        # Another sandbox is told by itself, and this one anew once one was taken between.
        third = await s.sandbox("third")
        await rotate(s, rotation, third)
        assert len(await told(s, third)) == 1
        await s.keeper.drop(held[0], LOCAL_PERSON)
        await rotate(s, rotation, sandbox)
        (after,) = await ruled(s, sandbox)
        assert after.id != before[0].id and len(await told(s, sandbox)) == 1
        s.keeper._most_bytes = SIZE
        await rotate(s, rotation, sandbox)
        assert await ruled(s, sandbox) == [after] and len(await told(s, sandbox)) == 2


async def test_what_was_told_is_forgotten_with_its_sandbox() -> None:
    async with stage() as s:
        sandbox, rotation = await s.sandbox(), SnapshotRotation(s.keeper)
        await s.take(sandbox)
        s.keeper._most_bytes = SIZE
        await rotate(s, rotation, sandbox)
        rotation.forget_others({sandbox.id})
        await rotate(s, rotation, sandbox)
        assert len(await told(s, sandbox)) == 1
        rotation.forget_others(())
        await rotate(s, rotation, sandbox)
        assert len(await told(s, sandbox)) == 2


async def test_snapshot_that_fails_costs_none_of_those_it_would_have_replaced() -> None:
    async with stage(1) as s:
        sandbox, rotation = await s.sandbox(), SnapshotRotation(s.keeper)
        await rotate(s, rotation, sandbox)
        before = await ruled(s, sandbox)
        s.extension.failing = True
        for _ in range(3):
            with pytest.raises(Unavailable, match="the disk is full"):
                await rotate(s, rotation, sandbox)
        assert await ruled(s, sandbox) == before
        assert s.extension.disks == {each.id for each in before}


async def test_rule_keeps_to_its_number_where_the_bound_leaves_room() -> None:
    async with stage() as s:
        sandbox, rotation = await s.sandbox(), SnapshotRotation(s.keeper)
        for _ in range(4):
            await rotate(s, rotation, sandbox, keep=2)
        assert len(await ruled(s, sandbox)) == 2
        s.keeper._most_bytes = 2 * SIZE
        await rotate(s, rotation, sandbox, keep=2)
        assert len(await ruled(s, sandbox)) == 2


async def test_snapshot_that_is_still_being_made_is_not_dropped_for_room() -> None:
    async with stage(1) as s:
        sandbox, rotation = await s.sandbox(), SnapshotRotation(s.keeper)
        await rotate(s, rotation, sandbox)
        (ready,) = await ruled(s, sandbox)
        making = replace(ready, id=SnapshotId("snap_0"), size=0, state=SnapshotState.MAKING)
        async with s.scene.store.begin() as rows:
            await rows.snapshots.put(making)
        await rotate(s, rotation, sandbox)
        left = await ruled(s, sandbox)
        assert making in left and ready not in left and len(left) == 2


async def test_room_of_what_was_removed_meanwhile_is_not_counted_twice() -> None:
    async with stage() as s:
        sandbox = await s.sandbox()
        gone, _, _ = [await s.take(sandbox) for _ in range(3)]
        await s.keeper.drop(gone, LOCAL_PERSON)
        s.keeper._most_bytes = 2 * SIZE
        with pytest.raises(LimitReached):
            await s.take(sandbox, SnapshotRequest(automatic=True, instead_of=(gone.id,)))
