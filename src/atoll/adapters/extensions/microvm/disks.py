"""Disks of guests: files with an ext4, which need no root to be made.

A folder that a sandbox only reads becomes a disk once for each content.
"""

import asyncio
import hashlib
import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.domain.size import MIB

MAKE_SECONDS = 900.0
UNUSED_SECONDS = 14 * 24 * 3600
REPLACED_SECONDS = 600.0
_ROOM = 1.15
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MISSING = "ext.microvm needs mke2fs: apt-get install e2fsprogs"


def find_mke2fs() -> str:
    """Return the program that makes disks. Raises `Failed` with how to install it."""
    program = shutil.which("mke2fs", path=_PATH)
    if program is None:
        raise Failed(MISSING)
    return program


async def make_disk(
    place: Path, size_mb: int, source: Path | None = None, before: tuple[str, ...] = ()
) -> None:
    """Make a disk that holds what is in `source`. `before` are words put before the command, which
    run it as somebody else. Raises `Failed` with what mke2fs says."""
    new = place.with_suffix(".new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    filled = () if source is None else ("-d", str(source))
    options = ("-q", "-F", "-t", "ext4", "-m", "0", "-E", "lazy_itable_init=1")
    command = (*before, find_mke2fs(), *options)
    process = await asyncio.create_subprocess_exec(
        *command,
        *(*filled, str(new), f"{size_mb}M"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(MAKE_SECONDS):
            _, complaint = await process.communicate()
    except TimeoutError as error:
        raise Failed(f"a disk of {size_mb} MB was not made in {MAKE_SECONDS:g} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        new.unlink(missing_ok=True)
        raise Failed(f"a disk was not made: {complaint.decode(errors='replace').strip()[:500]}")
    new.rename(place)


@dataclass(frozen=True, slots=True)
class Disks:
    """The read-only disks of a home, by the digest of what they hold."""

    folder: Path
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)

    async def of(self, source: Path) -> Path:
        """Return the disk of a folder as it is now, made when there is none; disks of what it was
        before are removed. Raises `Failed`."""
        async with self._turn:
            digest, size = await asyncio.to_thread(_measure, source)
            of_source = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
            place = self.folder / f"{of_source}-{digest}.img"
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not place.exists():
                await make_disk(place, size, source)
            os.utime(place)
            for other in self.folder.glob(f"{of_source}-*.img"):
                # A start that chose it a moment ago has not opened it yet.
                if time.time() - other.stat().st_mtime > REPLACED_SECONDS:
                    other.unlink()
            return place

    def forget_unused(self) -> None:
        """Remove the disks that no start used for two weeks; machines keep what they have open."""
        oldest = time.time() - UNUSED_SECONDS
        for disk in self.folder.glob("*.img"):
            if disk.stat().st_mtime < oldest:
                disk.unlink(missing_ok=True)


def _measure(source: Path) -> tuple[str, int]:
    """Return the digest of a folder, by names, sizes and times, and a disk's size for it in MB."""
    digest = hashlib.sha256(os.fsencode(source))
    blocks = entries = 0
    for folder, folders, files in os.walk(source):
        folders.sort()
        for name in sorted((*folders, *files)):
            path = Path(folder, name)
            try:
                status = path.lstat()
            except FileNotFoundError:
                continue  # a shared repository changes meanwhile
            line = f"{path}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_mode}\n"
            digest.update(os.fsencode(line))
            entries += 1
            blocks += -(-status.st_size // 4096) + 1
    size = (blocks * 4096 + entries * 512) * _ROOM
    return digest.hexdigest()[:24], 16 + int(size / MIB) + 1
