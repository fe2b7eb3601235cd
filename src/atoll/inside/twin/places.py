"""Places in the tree: opened beneath the root, entered and left, printed as records."""

import base64
import errno
import os
import stat

from .kernel import open_beneath

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
NOFOLLOW = DIRECTORY | os.O_NOFOLLOW
OVER_LIMIT, UNSAFE, PARTIAL = 66, 67, 68


class Denied(Exception):
    """A refusal by this program, not by the kernel: an exit code and a sentence."""

    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code, self.why = code, why


def open_parent(root: int, path: bytes) -> tuple[int, bytes]:
    """Open the directory a path lies in; return it with the last part."""
    parent, _, name = path.rpartition(b"/")
    if path.startswith(b"/"):
        raise OSError(errno.EXDEV, "path")
    if name in (b"", b".", b".."):
        raise OSError(errno.EINVAL, "path")
    return open_beneath(root, parent or b".", DIRECTORY), name


def spelt(name: bytes) -> str:
    """Return a name as a word of a record."""
    return base64.b64encode(name).decode() or "-"


def print_entry(name: bytes, seen: os.stat_result, target: bytes) -> None:
    """Print one record: TYPE MODE SIZE MTIME_NS NAME TARGET."""
    kind = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l"}
    letter = kind.get(stat.S_IFMT(seen.st_mode), "o")
    numbers = f"{letter} {stat.S_IMODE(seen.st_mode):o} {seen.st_size} {seen.st_mtime_ns}"
    print(numbers, spelt(name), spelt(target))


def print_place(root: int, path: bytes) -> None:
    """Print the record of an entry, links not followed."""
    fd = open_beneath(root, path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    seen = os.fstat(fd)
    target = os.readlink(b"", dir_fd=fd) if stat.S_ISLNK(seen.st_mode) else b""
    print_entry(b"" if path == b"." else path.rpartition(b"/")[2], seen, target)


def enter(directory: int, name: bytes) -> tuple[int, tuple[int, int]]:
    """Descend, holding one descriptor; return what identifies the way back."""
    child = os.open(name, NOFOLLOW, dir_fd=directory)
    seen = os.fstat(directory)
    os.close(directory)
    return child, (seen.st_dev, seen.st_ino)


def leave(directory: int, was: tuple[int, int]) -> int:
    """Go back up. Raises ESTALE when somebody moved the directory away meanwhile."""
    up = os.open("..", DIRECTORY, dir_fd=directory)
    os.close(directory)
    seen = os.fstat(up)
    if (seen.st_dev, seen.st_ino) != was:
        raise OSError(errno.ESTALE, "moved")
    return up


def names_of(directory: int) -> list[bytes]:
    """Return all names, sorted by their bytes."""
    return sorted(os.fsencode(name) for name in os.listdir(directory))


def make_parents(root: int, path: bytes) -> None:
    """Make every directory on the way to path, and path itself."""
    parts = [] if path == b"." else path.split(b"/")
    for count in range(1, len(parts) + 1):
        parent, name = open_parent(root, b"/".join(parts[:count]))
        try:
            os.mkdir(name, 0o755, dir_fd=parent)
        except FileExistsError:
            continue
        finally:
            os.close(parent)
    os.close(open_beneath(root, path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
