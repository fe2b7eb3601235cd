"""The free disk space that sandboxes share, and the limit below which none starts.

Images are sparse, so together they may promise more than the disk has. Nothing is reserved: below
the low-water mark no sandbox starts, so that running ones keep what is left.
"""

import os
import sys
from dataclasses import dataclass

from atoll.domain.errors import LimitReached
from atoll.domain.size import MIB
from atoll.zygote.host.home import Home

LOW_PERCENT = 5
"""Of a small disk; there the mark in MiB would be most of it."""

_BLOCK_BYTES = 512
"""The unit of st_blocks (inode(7)), whatever the file system's own is."""


@dataclass(frozen=True, slots=True)
class DiskSpace:
    """Bytes of the home's disk: `free` for Atoll, the mark `low` below which nothing starts, and
    `promised`, what images may still take."""

    free: int
    low: int
    promised: int

    @property
    def is_low(self) -> bool:
        """True when no sandbox may start now."""
        return self.free < self.low


def measure_disk_space(home: Home, low_disk_mb: int) -> DiskSpace:
    """Return the current disk space. Raises `OSError`."""
    disk = os.statvfs(home.boxes)
    size = disk.f_blocks * disk.f_frsize
    low = min(low_disk_mb * MIB, size * LOW_PERCENT // 100)
    return DiskSpace(disk.f_bavail * disk.f_frsize, low, _unallocated_bytes(home))


def check_disk_space(home: Home, low_disk_mb: int, more: int = 0) -> None:
    """Check that there is space for one more sandbox, and for `more` bytes. Raises `LimitReached`,
    and logs it, when there is too little."""
    room = measure_disk_space(home, low_disk_mb)
    if room.free - more >= room.low:
        return
    needed = f", of which {more // MIB} MiB are asked for" if more else ""
    why = (
        f"only {room.free // MIB} MiB are free on the disk of {home.root}{needed}, and no sandbox "
        f"starts below {room.low // MIB} MiB (low_disk_mb): destroy sandboxes that are no longer "
        "needed, or make room"
    )
    print(f"zygote: a start was refused: {why}", file=sys.stderr, flush=True)
    raise LimitReached(why)


def _unallocated_bytes(home: Home) -> int:
    """Return the bytes that sandboxes' sparse images may still take from the disk."""
    promised = 0
    for folder in home.boxes.iterdir():
        try:
            found = home.box(folder.name).image.lstat()
        except OSError:
            continue  # no sandbox, or one without an image
        promised += max(0, found.st_size - found.st_blocks * _BLOCK_BYTES)
    return promised
