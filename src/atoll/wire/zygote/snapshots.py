"""Messages about snapshots of sandboxes' disks."""

import msgspec

from atoll.wire.zygote.names import BoxId, SnapshotName


class KeepSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="keep_snapshot", forbid_unknown_fields=True
):
    """A request to keep what is on a sandbox's disk now, whether it runs or not. A snapshot of that
    name that is there already is left as it is."""

    sandbox_id: BoxId
    snapshot: SnapshotName


class SnapshotKept(msgspec.Struct, frozen=True, tag_field="answer", tag="snapshot_kept"):
    """A snapshot that is kept. `size` is the bytes that its files take, `still_ms` the time for
    which whoever wrote inside had to wait; 0 for a sandbox that did not run."""

    size: int
    still_ms: int = 0


class DropSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="drop_snapshot", forbid_unknown_fields=True
):
    """A request to remove a snapshot. Sandboxes that began as it keep their files. Idempotent."""

    snapshot: SnapshotName


class SnapshotDropped(msgspec.Struct, frozen=True, tag_field="answer", tag="snapshot_dropped"):
    """The end of a removal; `removed` false when there was none."""

    removed: bool


SnapshotRequest = KeepSnapshot | DropSnapshot
SnapshotAnswer = SnapshotKept | SnapshotDropped
