"""Messages about snapshots of sandboxes' disks."""

from typing import Annotated

import msgspec

from atoll.wire.zygote.names import AbsolutePath, BoxId, Positive, SnapshotName

Bytes = Annotated[int, msgspec.Meta(ge=0)]

MAX_STILL_MS = 3000
"""The longest time for which programs inside wait for a snapshot. A clone takes milliseconds; this
is for a disk without clones, where everything is copied."""


class KeepSnapshot(
    msgspec.Struct,
    frozen=True,
    tag_field="verb",
    tag="keep_snapshot",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A request to keep what is on a sandbox's disk now, whether it runs or not. A snapshot of that
    name that is there already is left as it is. With `still_ms` it is kept only while the sandbox
    runs, and if whoever writes inside need not wait for longer."""

    sandbox_id: BoxId
    snapshot: SnapshotName
    still_ms: Annotated[int, msgspec.Meta(ge=1, le=MAX_STILL_MS)] | None = None


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


class FindSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="find_snapshot", forbid_unknown_fields=True
):
    """A question whether a snapshot is on this machine. Where it is not, and none can be admitted
    that needs `room` bytes, it is refused; 0 only asks."""

    snapshot: SnapshotName
    room: Bytes = 0


class SnapshotFound(msgspec.Struct, frozen=True, tag_field="answer", tag="snapshot_found"):
    """The answer; `here` false where the snapshot is not on this machine."""

    here: bool


class LendSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="lend_snapshot", forbid_unknown_fields=True
):
    """A request for a copy of a snapshot's image that the control plane may read, until
    `ReturnSnapshot`. One that is lent already stays as it is."""

    snapshot: SnapshotName


class SnapshotLent(msgspec.Struct, frozen=True, tag_field="answer", tag="snapshot_lent"):
    """A copy at `path`. The files in it have `uid`."""

    path: str
    uid: int


class ReturnSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="return_snapshot", forbid_unknown_fields=True
):
    """A request to remove the copy that was lent. Idempotent."""

    snapshot: SnapshotName


class SnapshotReturned(msgspec.Struct, frozen=True, tag_field="answer", tag="snapshot_returned"):
    """The end of a loan; `removed` false when there was none."""

    removed: bool


class AdmitSnapshot(
    msgspec.Struct, frozen=True, tag_field="verb", tag="admit_snapshot", forbid_unknown_fields=True
):
    """A request to keep the image at `path`, a file of the control plane's own, as a snapshot whose
    files have `uid`. Answered by `SnapshotKept`. One that is there already is left as it is."""

    snapshot: SnapshotName
    path: AbsolutePath
    uid: Positive


SnapshotRequest = (
    KeepSnapshot | DropSnapshot | FindSnapshot | LendSnapshot | ReturnSnapshot | AdmitSnapshot
)
SnapshotAnswer = SnapshotKept | SnapshotDropped | SnapshotFound | SnapshotLent | SnapshotReturned
