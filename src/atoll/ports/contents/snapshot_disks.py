"""The SnapshotDisks port: images of snapshots, read from where they are kept and brought back."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from atoll.domain.ids import SnapshotId
from atoll.ports.extension import KeptDisk


@dataclass(frozen=True, slots=True)
class LentDisk:
    """A copy of a snapshot's image, which can be read. The files in it have `uid`."""

    path: Path
    uid: int


class SnapshotDisks(Protocol):
    """Images of this machine's snapshots. Raises `Unavailable` while they cannot be reached,
    `LimitReached` where the disk is full, `Conflict` where snapshots are files in plain folders."""

    async def find(self, snapshot: SnapshotId, room: int = 0) -> bool:
        """Return whether a snapshot is on this machine. Where it is not, and `room` bytes are asked
        for it, raises `LimitReached` for a disk that they would leave too little of, `Conflict`
        where none can be admitted."""
        ...

    async def lend(self, snapshot: SnapshotId) -> LentDisk:
        """Return a copy of a snapshot's image, which stays until `end_loan`. Idempotent. Raises
        `NotFound` for a snapshot that is not on this machine."""
        ...

    async def end_loan(self, snapshot: SnapshotId) -> None:
        """Remove that copy. Idempotent."""
        ...

    async def admit(self, snapshot: SnapshotId, image: Path, uid: int) -> KeptDisk:
        """Keep a copy of an image as a snapshot of this machine, whose files have `uid`; one that
        is there already stays. Raises `Invalid` for what is no disk of a sandbox."""
        ...

    async def drop(self, snapshot: SnapshotId) -> None:
        """Remove a snapshot from this machine. Idempotent."""
        ...
