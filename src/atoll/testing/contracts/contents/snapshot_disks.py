"""The contract of images of snapshots. Give `SnapshotDisksContract` the fixtures `disks`, and
`snapshot`: the id of one that is there."""

import shutil
from pathlib import Path

import pytest

from atoll.domain.errors import Invalid, LimitReached, NotFound
from atoll.domain.ids import SnapshotId
from atoll.ports.contents.snapshot_disks import SnapshotDisks

NEW = SnapshotId("snap_brought")


class SnapshotDisksContract:
    """Contract of images: what is lent can be kept again, and nothing else can."""

    async def test_image_that_was_lent_is_kept_under_another_name(
        self, disks: SnapshotDisks, snapshot: SnapshotId, tmp_path: Path
    ) -> None:
        """And lent again, equal byte for byte."""
        lent = await disks.lend(snapshot)
        assert await disks.lend(snapshot) == lent
        own = tmp_path / "image"
        shutil.copyfile(lent.path, own)
        assert not await disks.find(NEW)
        disk = await disks.admit(NEW, own, lent.uid)
        assert disk.size > 0
        assert await disks.admit(NEW, own, lent.uid) == disk
        assert await disks.find(NEW)
        again = await disks.lend(NEW)
        assert again.uid == lent.uid and again.path != lent.path
        assert again.path.stat().st_size == own.stat().st_size
        for each in (snapshot, NEW, NEW):
            await disks.end_loan(each)
        assert not lent.path.exists() and not again.path.exists()
        for _ in range(2):
            await disks.drop(NEW)
        with pytest.raises(NotFound):
            await disks.lend(NEW)
        await disks.end_loan(NEW)

    async def test_snapshot_that_is_not_there_is_not_lent(self, disks: SnapshotDisks) -> None:
        """And its loan can be ended."""
        with pytest.raises(NotFound):
            await disks.lend(SnapshotId("snap_none"))
        await disks.end_loan(SnapshotId("snap_none"))

    async def test_snapshot_is_found_where_it_is_and_has_room_where_it_may_come(
        self, disks: SnapshotDisks, snapshot: SnapshotId
    ) -> None:
        """Ask for one that is there with any room, and find another refused for too much."""
        much = 2**50
        for room in (0, much):
            assert await disks.find(snapshot, room)
        assert not await disks.find(SnapshotId("snap_none"))
        assert not await disks.find(SnapshotId("snap_none"), 1)
        with pytest.raises(LimitReached):
            await disks.find(SnapshotId("snap_none"), much)

    async def test_image_of_another_user_is_refused(
        self, disks: SnapshotDisks, snapshot: SnapshotId, tmp_path: Path
    ) -> None:
        """The machine's own users above all."""
        lent = await disks.lend(snapshot)
        own = tmp_path / "image"
        shutil.copyfile(lent.path, own)
        for uid in (1, 1000, lent.uid + 1):
            with pytest.raises(Invalid):
                await disks.admit(SnapshotId("snap_other"), own, uid)
        with pytest.raises(NotFound):
            await disks.lend(SnapshotId("snap_other"))
        await disks.end_loan(snapshot)
