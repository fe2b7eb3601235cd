"""Covers of closed directories, in a private mount namespace.

An empty directory is mounted over each, and only what is needed is bound below it again, where
foreign uids can reach it.
"""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from atoll.zygote.host import kernel

COVER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Cover:
    """Closed directory to cover, and what below it must stay reachable."""

    folder: Path
    needed: tuple[Path, ...]


def find_covers(needed: Iterable[Path], closed: Callable[[Path], bool]) -> list[Cover]:
    """Return the outermost closed ancestors of the needed paths."""
    found: dict[Path, list[Path]] = {}
    for path in needed:
        for ancestor in reversed(path.parents):
            if closed(ancestor):
                found.setdefault(ancestor, []).append(path)
                break
    return [Cover(folder, tuple(paths)) for folder, paths in found.items()]


def closed_to_others(folder: Path) -> bool:
    """Return whether a foreign uid cannot pass through this folder."""
    return not folder.stat().st_mode & 0o001


def mount_cover(cover: Cover) -> None:
    """Cover the directory, in a private mount namespace. Raises `OSError`."""
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in cover.needed]
    options = f"mode=0711,size={COVER_BYTES}"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("atoll", str(cover.folder), "tmpfs", flags, data=options)
    for path, fd in held:
        _make_mount_point(cover.folder, path, is_folder=stat.S_ISDIR(os.fstat(fd).st_mode))
        kernel.mount(f"/proc/self/fd/{fd}", str(path), flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(fd)


def _make_mount_point(top: Path, path: Path, *, is_folder: bool) -> None:
    below = path.relative_to(top)
    for folder in [*reversed(below.parents), *([below] if is_folder else [])]:
        place = top / folder
        if not place.exists():
            place.mkdir(mode=0o711)
            place.chmod(0o711)
    if not is_folder:
        path.touch(mode=0o600)
