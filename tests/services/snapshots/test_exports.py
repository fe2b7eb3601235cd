"""Exports of snapshots: what is kept, brought back and refused, and who may."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.domain.errors import (
    Conflict,
    Failed,
    Forbidden,
    NotFound,
    Unavailable,
)
from atoll.domain.ids import OrgId, PrincipalId, SnapshotId
from atoll.domain.people.capability import capabilities_of
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.snapshots.snapshot import Prebuild
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskReturns
from atoll.services.ground import Ground
from atoll.services.snapshots.exports import SnapshotExports
from atoll.services.snapshots.keeper import SnapshotKeeper
from atoll.testing import SnapshotDisksContract
from atoll.wire.words.people import OrgRole
from atoll.wire.words.sandboxes import SnapshotState
from tests.services.contents.keeping import changed
from tests.services.scene import scene
from tests.services.snapshots.exporting import DATA, UID, FolderDisks, exporting

OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"), capabilities=capabilities_of(OrgRole.MEMBER))
STRANGER = replace(OTHER, org_id=OrgId("org_else"))


class TestFolderDisks(SnapshotDisksContract):
    """The contract."""

    @pytest.fixture
    def disks(self, tmp_path: Path) -> FolderDisks:
        (tmp_path / "disks").mkdir()
        made = FolderDisks(tmp_path / "disks")
        (made.kept / "snap_1").write_bytes(b"disk")
        return made

    @pytest.fixture
    def snapshot(self) -> SnapshotId:
        return SnapshotId("snap_1")


async def test_snapshot_comes_back_after_its_disk_is_gone(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        done = await s.exports.export(LOCAL_PERSON, "one")
        assert done == await s.stored() and done.export is not None and done.export.uid == UID
        assert await s.exports.export(LOCAL_PERSON, "one") == done
        assert (await s.exports.verify(LOCAL_PERSON, "one")).is_whole
        s.lose()
        await s.exports.bring_back(LOCAL_PERSON, "one")
        assert s.brought() == DATA
        await s.exports.bring_back(LOCAL_PERSON, "one")
        s.check_nothing_left()


async def test_damaged_export_is_told_and_does_not_come_back(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()
        path = s.place.blobs.files()[0]
        path.write_bytes(changed(path.read_bytes(), 50))
        assert len((await s.exports.verify(LOCAL_PERSON, "one")).damaged) == 1
        with pytest.raises(Failed) as caught:
            await s.exports.bring_back(LOCAL_PERSON, "one")
        assert caught.value.code == "content_damaged"
        assert list(s.disks.kept.iterdir()) == []
        s.check_nothing_left()


async def test_snapshot_that_is_removed_while_it_is_exported_leaves_nothing(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:

        async def remove(_verb: str, name: str) -> None:
            if name.endswith("/manifest"):
                async with s.place.store.begin() as rows:
                    await rows.snapshots.remove(s.snapshot.id)

        s.place.blobs.before = remove
        with pytest.raises(NotFound):
            await s.exports.export(LOCAL_PERSON, "one")
        s.check_nothing_left()
        async with s.place.store.read() as rows:
            assert await rows.contents.of(s.snapshot.org_id) == []
            assert await rows.contents.drafts() == []
        s.place.blobs.before = s.place.blobs.after
        await s.place.contents.collect()
        assert s.place.blobs.files() == []


async def test_snapshot_that_is_removed_while_it_is_brought_back_leaves_nothing(
    tmp_path: Path,
) -> None:
    async with exporting(tmp_path) as s:
        await s.exports.export(LOCAL_PERSON, "one")
        s.lose()

        async def remove(_verb: str, _name: str) -> None:
            async with s.place.store.begin() as rows:
                await rows.snapshots.remove(s.snapshot.id)

        s.place.blobs.before = remove
        with pytest.raises(NotFound):
            await s.exports.bring_back(LOCAL_PERSON, "one")
        assert list(s.disks.kept.iterdir()) == []
        s.check_nothing_left()


async def test_contents_go_with_their_snapshot(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s, scene() as other:
        done = await s.exports.export(LOCAL_PERSON, "one")
        ground = Ground(s.place.store, other.bus, s.place.clock, other.ground.ids)
        await SnapshotKeeper(ground, {}).drop(done, LOCAL_PERSON)
        async with s.place.store.read() as rows:
            assert await rows.contents.of(done.org_id) == []
        await s.place.contents.collect()
        s.place.clock.turn(2 * 3600)
        await s.place.contents.collect()
        assert s.place.blobs.files() == []


async def test_others_are_refused_and_strangers_find_nothing(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        for act in (s.exports.export, s.exports.verify, s.exports.bring_back):
            with pytest.raises(Forbidden):
                await act(OTHER, s.snapshot.id)
            with pytest.raises(NotFound):
                await act(STRANGER, s.snapshot.id)
        assert (await s.stored()).export is None and s.place.blobs.files() == []


async def test_what_was_not_exported_is_neither_verified_nor_brought_back(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        for act in (s.exports.verify, s.exports.bring_back):
            with pytest.raises(Conflict) as caught:
                await act(LOCAL_PERSON, "one")
            assert caught.value.code == "not_exported"


async def test_disk_that_is_not_here_is_not_exported(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        s.lose()
        with pytest.raises(NotFound):
            await s.exports.export(LOCAL_PERSON, "one")
        s.check_nothing_left()


async def test_snapshot_that_is_not_ready_or_a_forks_own_is_not_exported(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        for snapshot in (
            replace(s.snapshot, state=SnapshotState.MAKING),
            replace(s.snapshot, forks=()),
        ):
            async with s.place.store.begin() as rows:
                await rows.snapshots.put(snapshot)
            with pytest.raises(Conflict):
                await s.exports.export(LOCAL_PERSON, s.snapshot.id)


async def test_what_a_set_up_left_is_exported_by_nobody(tmp_path: Path) -> None:
    administrator = replace(LOCAL_PERSON, capabilities=capabilities_of(OrgRole.OWNER))
    async with exporting(tmp_path) as s:
        now = s.place.clock.now()
        hidden = replace(s.snapshot, prebuild=Prebuild("key", "example.org/o/r", "d" * 64, now))
        async with s.place.store.begin() as rows:
            await rows.snapshots.put(hidden)
        for act in (s.exports.export, s.exports.verify, s.exports.bring_back):
            for caller in (LOCAL_PERSON, administrator, OTHER, STRANGER):
                for ref in (hidden.id, "one"):
                    with pytest.raises(NotFound):
                        await act(caller, ref)
        assert await s.stored() == hidden and s.place.blobs.files() == []


async def test_export_stands_whose_copy_cannot_be_removed_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_disks: FolderDisks, _snapshot: SnapshotId) -> None:
        raise Unavailable("the zygote does not answer")

    async with exporting(tmp_path) as s:
        monkeypatch.setattr(FolderDisks, "end_loan", refuse)
        done = await s.exports.export(LOCAL_PERSON, "one")
        assert done.export is not None
        assert done == await s.stored()
        # The reason of an export that fails is its own, and the next act is not refused.
        s.lose()
        again = replace(done, export=None)
        async with s.place.store.begin() as rows:
            await rows.snapshots.put(again)
        with pytest.raises(NotFound):
            await s.exports.export(LOCAL_PERSON, "one")
        with pytest.raises(NotFound):
            await s.exports.export(LOCAL_PERSON, "one")


async def test_export_stores_what_the_last_one_of_the_sandbox_has_not(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        first = await s.exports.export(LOCAL_PERSON, "one")
        later = replace(s.snapshot, id=SnapshotId("snap_2"), name="two")
        async with s.place.store.begin() as rows:
            await rows.snapshots.put(later)
        (s.disks.kept / later.id).write_bytes(changed(DATA, len(DATA) // 2))
        second = await s.exports.export(LOCAL_PERSON, "two")
        assert first.export is not None and second.export is not None
        assert second.export.stored < first.export.stored / 10
        # The one that it builds upon may go.
        await SnapshotKeeper(s.ground, {}).drop(first, LOCAL_PERSON)
        await s.place.contents.collect()
        s.place.clock.turn(2 * 3600)
        await s.place.contents.collect()
        assert (await s.exports.verify(LOCAL_PERSON, "two")).is_whole


async def test_second_export_waits_for_the_first_and_stores_nothing(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s:
        stored, go_on = asyncio.Event(), asyncio.Event()

        async def hang(_verb: str, _name: str) -> None:
            stored.set()
            await go_on.wait()

        s.place.blobs.after = hang
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(s.exports.export(LOCAL_PERSON, "one"))
            await stored.wait()
            second = tasks.create_task(s.exports.export(LOCAL_PERSON, "one"))
            go_on.set()
        assert first.result() == second.result() == await s.stored()
        async with s.place.store.read() as rows:
            assert len(await rows.contents.of(s.snapshot.org_id)) == 1
        s.check_nothing_left()


async def test_installation_without_contents_refuses(tmp_path: Path) -> None:
    async with exporting(tmp_path) as s, scene() as other:
        ground = Ground(s.place.store, other.bus, s.place.clock, other.ground.ids)
        with pytest.raises(Conflict):
            orders = DiskOrders(ground)
            exports = SnapshotExports(ground, DiskReturns(ground, None, orders), orders)
            await exports.export(LOCAL_PERSON, "one")
