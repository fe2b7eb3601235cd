"""Snapshots of sandboxes whose disks the zygote has, whoever builds their walls."""

from dataclasses import replace

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Failed
from atoll.domain.ids import SnapshotId
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.ports.extension import Handle, KeptDisk
from atoll.wire.words.sandboxes import DiskPromise
from atoll.wire.zygote.messages import Reported
from atoll.wire.zygote.snapshots import DropSnapshot, KeepSnapshot, SnapshotDropped, SnapshotKept

KEEP_SECONDS = 600.0
"""A disk that cannot be cloned is copied."""

_OF_DISKS, _OF_FOLDERS = SnapshotPromise(DiskPromise.QUIESCED), SnapshotPromise(DiskPromise.CRASH)


def promise_of(
    report: Reported | None, *, folders: bool = False, shared: bool = False
) -> SnapshotPromise | None:
    """Return what a zygote promises of snapshots, with `folders` also of files in plain folders;
    None where it keeps none, or was not asked yet. Disks go to other hosts by contents that are
    `shared` with them."""
    if report is not None and report.snapshots:
        return replace(_OF_DISKS, cross_host=shared)
    return _OF_FOLDERS if report is not None and report.folder_snapshots and folders else None


class ZygoteSnapshots:
    """Base of extensions whose sandboxes have their disks at the zygote."""

    __slots__ = ()
    _link: ZygoteLink

    async def keep_snapshot(
        self, handle: Handle, snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        """Keep the disk of a sandbox, which need not stop for it."""
        request = KeepSnapshot(handle.sandbox_id, snapshot, still_ms)
        answer = await self._link.request(request, seconds=KEEP_SECONDS)
        if not isinstance(answer, SnapshotKept):
            raise Failed(f"the zygote answered a snapshot by {type(answer).__name__}")
        return KeptDisk(answer.size, answer.still_ms)

    async def drop_snapshot(self, snapshot: SnapshotId, _host: str) -> bool:
        """Remove what is kept; returns whether it was there."""
        answer = await self._link.request(DropSnapshot(snapshot), seconds=KEEP_SECONDS)
        if not isinstance(answer, SnapshotDropped):
            raise Failed(f"the zygote answered a removal by {type(answer).__name__}")
        return answer.removed
