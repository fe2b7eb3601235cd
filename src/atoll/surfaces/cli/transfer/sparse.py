"""Bytes of a sandbox written to this disk: never more than it has room for, zeros as holes.

A file inside may claim terabytes and hold nothing. So what is announced is compared with the free
space before anything is written, and again while it is written, since an announcement may lie.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final

from atoll.domain.errors import LimitReached
from atoll.domain.size import spelled_size

HOLE_BYTES: Final = 64 * 1024
LOOK_EVERY_BYTES: Final = 4 * 2**20
MOST_RESERVE_BYTES: Final = 2**30
TOLD_BYTES: Final = 2**30
"""From this size on a total is reported before a copy begins."""

_ZEROS: Final = bytes(HOLE_BYTES)


class FreeSpace:
    """Space that may be written below `folder`: its free space but for a reserve (5 %, at most 1
    GiB)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._since_look = 0

    def admit(self, size: int, what: str) -> None:
        """Raise `LimitReached` where `size` announced bytes do not fit."""
        free = self._free_bytes()
        if size > free:
            raise LimitReached(
                f"{what} is {spelled_size(size)} large and {self._folder} has room for "
                f"{spelled_size(free)}: nothing was written. Name a folder on a larger disk, "
                "or copy a part"
            )

    def spend(self, size: int) -> None:
        """Count bytes about to be written. Raises `LimitReached` before the reserve is used."""
        self._since_look += size
        if self._since_look < LOOK_EVERY_BYTES:
            return
        self._since_look = 0
        if self._free_bytes() < LOOK_EVERY_BYTES:
            raise LimitReached(f"{self._folder} is nearly full: nothing was kept")

    def _free_bytes(self) -> int:
        """Return how many bytes may be written: a reserve of the disk stays free."""
        seen = os.statvfs(self._folder)
        reserve = min(seen.f_blocks * seen.f_frsize // 20, MOST_RESERVE_BYTES)
        return max(0, seen.f_bavail * seen.f_frsize - reserve)


def write_sparse(out: IO[bytes], pieces: Iterable[bytes], room: FreeSpace) -> int:
    """Write the pieces to a new file, runs of zeros as holes; returns its size."""
    size = 0
    for piece in pieces:
        for at in range(0, len(piece), HOLE_BYTES):
            part = piece[at : at + HOLE_BYTES]
            if part == _ZEROS[: len(part)]:
                out.seek(len(part), os.SEEK_CUR)
            else:
                room.spend(len(part))
                out.write(part)
        size += len(piece)
    out.truncate(size)
    return size
