"""The directories of Atoll itself: its program, its virtual environment and its home.

No mount ever shows one of them in a sandbox, nor a directory above or below one. Directories are
compared by name, and by device and inode, so that a second name for one (a bind mount) is found. A
second name for a directory inside one is not found, but only root can make it.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import atoll
from atoll.domain.files.host_mount import below_any

_Identity = tuple[int, int]


def own_places(home: Path) -> list[Path]:
    """Return the real paths of the interpreter, its environment, everything importable, and the
    home. A path that cannot be inspected counts as existing."""
    code = [sys.base_prefix, sys.prefix, str(Path(atoll.__file__).parent), *sys.path]
    executable = Path(sys.executable).resolve().parent
    named = [*(Path(each) for each in code if each), executable, home]
    return _outermost(path.resolve() for path in named if not _is_missing(path))


def _is_missing(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Return the paths that are not below another one."""
    kept: list[Path] = []
    for path in sorted(set(paths), key=lambda each: len(each.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


def own_place_at(source: Path, places: Iterable[Path]) -> Path | None:
    """Return the first of `places` that `source` is, holds or lies in; None without one."""
    above = set(_identities(source))
    here = next(_identities(source), None)
    for place in places:
        named = below_any(str(source), (str(place),)) or below_any(str(place), (str(source),))
        if named or next(_identities(place), None) in above or here in set(_identities(place)):
            return place
    return None


def _identities(path: Path) -> Iterator[_Identity]:
    """Yield device and inode of a directory, then of each directory above it but the root, skipping
    missing ones."""
    for folder in (path, *path.parents)[:-1]:
        try:
            found = os.lstat(folder)
        except OSError:
            continue
        yield found.st_dev, found.st_ino
