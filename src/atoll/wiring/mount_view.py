"""What of the file system Atoll's own processes see: as much as they need of private folders.

The interpreter, the packages or the home may lie below a folder closed to others, such
as root's own home. Then, in a private mount namespace, an empty folder covers it and
only the needed paths come back at their places: foreign uids can pass, and nothing else of
the folder is there.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from atoll.runtime.zygote import kernel
from atoll.runtime.zygote.own_places import own_places
from atoll.runtime.zygote.storage import private_mounts

COVER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Cover:
    """A closed folder and what below it must stay reachable."""

    folder: Path
    needed: tuple[Path, ...]


def covers(needed: Iterable[Path], closed: Callable[[Path], bool]) -> list[Cover]:
    """The outermost closed ancestors of the needed paths."""
    found: dict[Path, list[Path]] = {}
    for path in needed:
        for ancestor in reversed(path.parents):
            if closed(ancestor):
                found.setdefault(ancestor, []).append(path)
                break
    return [Cover(folder, tuple(paths)) for folder, paths in found.items()]


def closed_to_others(folder: Path) -> bool:
    """Whether a foreign uid cannot pass through."""
    return not folder.stat().st_mode & 0o001


def enter(home: Path) -> None:
    """Enter a mount namespace of our own and cover what is closed. As root only; raises
    `OSError` where the kernel refuses."""
    wanted = covers(own_places(home), closed_to_others)
    private_mounts()
    for cover in wanted:
        _cover(cover)


def _cover(cover: Cover) -> None:
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in cover.needed]
    options = f"mode=0711,size={COVER_BYTES}"
    flags = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("atoll", str(cover.folder), "tmpfs", flags, data=options)
    for path, fd in held:
        _make_way(cover.folder, path)
        kernel.mount(f"/proc/self/fd/{fd}", str(path), flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(fd)


def _make_way(top: Path, path: Path) -> None:
    for folder in [*reversed(path.relative_to(top).parents), path.relative_to(top)]:
        place = top / folder
        if not place.exists():
            place.mkdir(mode=0o711)
            place.chmod(0o711)
