"""Images of snapshots at the zygote of this machine."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Failed
from atoll.domain.ids import SnapshotId
from atoll.ports.contents.snapshot_disks import LentDisk
from atoll.ports.extension import KeptDisk
from atoll.wire.zygote.messages import Answer
from atoll.wire.zygote.snapshots import (
    AdmitSnapshot,
    DropSnapshot,
    FindSnapshot,
    LendSnapshot,
    ReturnSnapshot,
    SnapshotDropped,
    SnapshotFound,
    SnapshotKept,
    SnapshotLent,
    SnapshotReturned,
)

FIND_SECONDS: Final = 10.0
COPY_SECONDS: Final = 1800.0
"""A disk that cannot be cloned is copied."""


@dataclass(slots=True)
class ZygoteSnapshotDisks:
    """The `ports.contents.snapshot_disks.SnapshotDisks` at the zygote's socket."""

    socket: Path
    _link: ZygoteLink = field(init=False)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.socket)

    async def find(self, snapshot: SnapshotId, room: int = 0) -> bool:
        """See the port."""
        answer = await self._link.request(FindSnapshot(snapshot, room), seconds=FIND_SECONDS)
        if not isinstance(answer, SnapshotFound):
            raise _wrong(answer)
        return answer.here

    async def lend(self, snapshot: SnapshotId) -> LentDisk:
        """See the port."""
        answer = await self._link.request(LendSnapshot(snapshot), seconds=COPY_SECONDS)
        if not isinstance(answer, SnapshotLent):
            raise _wrong(answer)
        return LentDisk(Path(answer.path), answer.uid)

    async def end_loan(self, snapshot: SnapshotId) -> None:
        """See the port."""
        answer = await self._link.request(ReturnSnapshot(snapshot), seconds=COPY_SECONDS)
        if not isinstance(answer, SnapshotReturned):
            raise _wrong(answer)

    async def admit(self, snapshot: SnapshotId, image: Path, uid: int) -> KeptDisk:
        """See the port."""
        request = AdmitSnapshot(snapshot, str(image), uid)
        answer = await self._link.request(request, seconds=COPY_SECONDS)
        if not isinstance(answer, SnapshotKept):
            raise _wrong(answer)
        return KeptDisk(answer.size, answer.still_ms)

    async def drop(self, snapshot: SnapshotId) -> None:
        """See the port."""
        answer = await self._link.request(DropSnapshot(snapshot), seconds=COPY_SECONDS)
        if not isinstance(answer, SnapshotDropped):
            raise _wrong(answer)

    async def close(self) -> None:
        """Close the connection."""
        self._link.close()


def _wrong(answer: Answer) -> Failed:
    return Failed(f"the zygote answered a snapshot by {type(answer).__name__}")
