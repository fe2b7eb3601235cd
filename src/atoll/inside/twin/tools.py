"""The tools by name, and those that change or show one name.

Options come first, then `--`, then the paths: a path may have any name at all.
"""

import errno
import heapq
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field

from .dialling import do_dial, do_listening
from .kernel import RENAME_NOREPLACE, checked, libc, open_beneath
from .packing import do_tar
from .places import (
    DIRECTORY,
    Denied,
    enter,
    leave,
    make_parents,
    open_parent,
    print_entry,
    print_place,
)
from .searching import do_search
from .totalling import do_total
from .unpacking import do_untar
from .watching import do_watch

USAGE = 64
MOST_LINKS = 40
FLAGS = (b"-r", b"-p", b"--overwrite", b"--text", b"--exact", b"--all")
VALUES = (
    *(b"--after", b"--limit", b"--mode", b"--max-files", b"--max-bytes"),
    *(b"--seconds", b"--reach"),
)


@dataclass
class Request:
    """A call of a tool."""

    root: int
    paths: list[bytes] = field(default_factory=list)
    flags: set[bytes] = field(default_factory=set)
    values: dict[bytes, bytes] = field(default_factory=dict)


def run(words: list[bytes]) -> int:
    """Run a tool; return its exit code. Raises OSError and `Denied`."""
    request = Request(os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
    name, rest = words[0], words[1:]
    while rest and (word := rest.pop(0)) != b"--":
        if word in FLAGS:
            request.flags.add(word)
        elif word in VALUES and rest:
            request.values[word] = rest.pop(0)
        else:
            raise Denied(USAGE, "unknown option")
    request.paths = [path or b"." for path in rest]
    count, tool = TOOLS.get(name, (-1, do_stat))
    if len(request.paths) != count:
        raise Denied(USAGE, "unknown tool" if count < 0 else "wrong number of paths")
    return tool(request)


def do_list(it: Request) -> int:
    """Print one page of a directory in the order of its names' bytes."""
    fd = open_beneath(it.root, it.paths[0], DIRECTORY)
    after, limit = it.values.get(b"--after"), int(it.values.get(b"--limit", b"1000"))
    with os.scandir(fd) as entries:
        names = (os.fsencode(entry.name) for entry in entries)
        page = heapq.nsmallest(limit, (name for name in names if after is None or name > after))
    for name in page:
        try:
            seen = os.stat(name, dir_fd=fd, follow_symlinks=False)
            target = os.readlink(name, dir_fd=fd) if stat.S_ISLNK(seen.st_mode) else b""
        except FileNotFoundError:
            continue
        print_entry(name, seen, target)
    return 0


def do_stat(it: Request) -> int:
    """Print one entry."""
    print_place(it.root, it.paths[0])
    return 0


def do_mkdir(it: Request) -> int:
    """Make a directory, with -p its parents too."""
    os.umask(0o022)
    if b"-p" in it.flags:
        make_parents(it.root, it.paths[0])
    else:
        parent, name = open_parent(it.root, it.paths[0])
        os.mkdir(name, 0o755, dir_fd=parent)
    return do_stat(it)


def do_move(it: Request) -> int:
    """Rename a path; without --overwrite only to a free name."""
    source, old = open_parent(it.root, it.paths[0])
    target, new = open_parent(it.root, it.paths[1])
    flags = 0 if b"--overwrite" in it.flags else RENAME_NOREPLACE
    checked(libc.renameat2(source, old, target, new, flags))
    print_place(it.root, it.paths[1])
    return 0


def _open_goal(root: int, path: bytes) -> tuple[int, bytes, bytes]:
    """Open the directory of what `path` names once the links at its end are followed, each step
    beneath the root. Returns it with the last part and that place."""
    for _ in range(MOST_LINKS):
        parent, name = open_parent(root, path)
        try:
            target = os.readlink(name, dir_fd=parent)
        except OSError:
            return parent, name, path
        os.close(parent)
        path = target if target.startswith(b"/") else path[: len(path) - len(name)] + target
    raise OSError(errno.ELOOP, "commit")


def do_commit(it: Request) -> int:
    """End an atomic write: the temporary file takes the final name, or that of the file a link
    there leads to."""
    source, old = open_parent(it.root, it.paths[0])
    target, new, goal = _open_goal(it.root, it.paths[1])
    mode = int(it.values[b"--mode"], 8) & 0o777 if b"--mode" in it.values else None
    said = "created"
    try:
        there = os.stat(new, dir_fd=target, follow_symlinks=False).st_mode
    except FileNotFoundError:
        there = 0
    if there:
        if not stat.S_ISREG(there):
            kinds = {stat.S_IFDIR: errno.EISDIR, stat.S_IFLNK: errno.ESTALE}
            raise OSError(kinds.get(stat.S_IFMT(there), errno.EINVAL), "commit")
        mode, said = there & 0o777 if mode is None else mode, "replaced"
    if mode is not None:
        os.chmod(old, mode, dir_fd=source)
    os.rename(old, new, src_dir_fd=source, dst_dir_fd=target)
    print(said)
    print_place(it.root, goal)
    return 0


def do_remove(it: Request) -> int:
    """Remove one name, or with -r a whole tree of any depth, holding one descriptor."""
    parent, name = open_parent(it.root, it.paths[0])
    if not stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=parent)
    elif b"-r" not in it.flags:
        os.rmdir(name, dir_fd=parent)
    else:
        _remove_tree(parent, name)
    return 0


def _remove_tree(directory: int, name: bytes) -> None:
    levels: list[tuple[bytes, tuple[int, int]]] = []
    deeper: bytes | None = name
    while deeper is not None or levels:
        if deeper is not None:
            directory, was = _descend(directory, deeper)
            levels.append((deeper, was))
            os.fchmod(directory, 0o700)
        deeper = _clear(directory)
        if deeper is not None:
            continue
        name, was = levels.pop()
        directory = leave(directory, was)
        try:
            os.rmdir(name, dir_fd=directory)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            deeper = name  # another process has filled it again


def _descend(directory: int, name: bytes) -> tuple[int, tuple[int, int]]:
    try:
        return enter(directory, name)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=directory)
        return enter(directory, name)


def _clear(directory: int) -> bytes | None:
    """Remove what can be removed; return the name of a directory that is not empty."""
    for text in os.listdir(directory):
        name = os.fsencode(text)
        try:
            os.unlink(name, dir_fd=directory)
        except FileNotFoundError:
            continue
        except (IsADirectoryError, PermissionError):
            try:
                os.rmdir(name, dir_fd=directory)
            except OSError as error:
                if error.errno == errno.ENOTEMPTY:
                    return name
                raise
    return None


TOOLS: dict[bytes, tuple[int, Callable[[Request], int]]] = {
    b"list": (1, do_list),
    b"stat": (1, do_stat),
    b"mkdir": (1, do_mkdir),
    b"move": (2, do_move),
    b"commit": (2, do_commit),
    b"remove": (1, do_remove),
    b"tar": (1, lambda it: do_tar(it.root, it.paths[0])),
    b"untar": (1, lambda it: do_untar(it.root, it.paths[0], it.values)),
    b"watch": (1, lambda it: do_watch(it.root, it.paths[0], recursive=b"-r" in it.flags)),
    b"dial": (1, lambda it: do_dial(it.paths[0])),
    b"total": (1, lambda it: do_total(it.root, it.paths[0])),
    b"search": (2, lambda it: do_search(it.root, it.paths, it.flags, it.values)),
    b"listening": (0, lambda _: do_listening()),
}
