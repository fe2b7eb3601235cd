"""The tool `watch`: changes of names in a directory, or in the whole tree beneath it."""

import ctypes
import errno
import os
import select
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress

from .kernel import checked, libc, open_beneath
from .places import DIRECTORY, names_of, spelt

EVENT = struct.Struct("iIII")
MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, CREATE, DELETE = 0x2, 0x4, 0x40, 0x80, 0x100, 0x200
ONLYDIR, EXCL_UNLINK, ISDIR, Q_OVERFLOW, IGNORED = 1 << 24, 1 << 26, 1 << 30, 0x4000, 0x8000
WANTED = MODIFY | ATTRIB | MOVED_FROM | MOVED_TO | CREATE | DELETE | ONLYDIR | EXCL_UNLINK
MAX_WATCHES, MAX_DEPTH = 8192, 512


def say(kind: str, path: bytes, origin: bytes = b"") -> None:
    """Print one record."""
    print(kind, spelt(path), spelt(origin))


class Watches:
    """The watches of one tree and their paths."""

    def __init__(self, root: int, *, recursive: bool) -> None:
        self.root, self.recursive = root, recursive
        self.inotify = checked(libc.inotify_init1(os.O_CLOEXEC))
        self.paths: dict[int, bytes] = {}
        self.lost = False
        self.moving: tuple[int, bytes] | None = None

    def overflow(self) -> None:
        """Report an overflow, once: from now on not every change is seen."""
        if not self.lost:
            say("overflow", b"")
        self.lost = True

    def add(self, path: bytes, *, depth: int = 0, report: bool = False) -> None:
        """Watch a directory, and with `recursive` those in it. Raises OSError."""
        fd = open_beneath(self.root, path, DIRECTORY)
        try:
            os.fchdir(fd)
            watch = libc.inotify_add_watch(self.inotify, b".", WANTED)
            if watch < 0 and ctypes.get_errno() != errno.ENOSPC:
                checked(watch)
            if watch < 0 or watch > MAX_WATCHES:
                self.overflow()
                return
            self.paths[watch] = path
            if self.recursive:
                self._add_inner(fd, path, depth, report=report)
        finally:
            os.close(fd)

    def _add_inner(self, fd: int, path: bytes, depth: int, *, report: bool) -> None:
        if depth >= MAX_DEPTH:
            self.overflow()
            return
        for name in names_of(fd):
            inner = join(path, name)
            with suppress(OSError):
                mode = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if report:
                    # The entry came before its watch did: a double report is better than none.
                    say("created", inner)
                if stat.S_ISDIR(mode):
                    self.add(inner, depth=depth + 1, report=report)

    def settle(self) -> None:
        """Report a name as deleted that moved away and did not come back."""
        if self.moving is not None:
            say("deleted", self.moving[1])
        self.moving = None

    def handle(self, watch: int, mask: int, cookie: int, name: bytes) -> None:
        """Handle one event of the kernel."""
        if not mask & MOVED_TO or self.moving is None or self.moving[0] != cookie:
            self.settle()
        if mask & Q_OVERFLOW:
            say("overflow", b"")
        elif mask & IGNORED:
            self.paths.pop(watch, None)
        elif name and watch in self.paths:
            self._named(mask, cookie, join(self.paths[watch], name))

    def _named(self, mask: int, cookie: int, path: bytes) -> None:
        if mask & MOVED_FROM:
            self.moving = (cookie, path)
            if mask & ISDIR:
                self.forget(path)
        elif mask & MOVED_TO and self.moving is not None:
            say("moved", path, self.moving[1])
            self.moving = None
        elif mask & (MOVED_TO | CREATE):
            say("created", path)
        else:
            say("deleted" if mask & DELETE else "modified", path)
        if self.recursive and mask & ISDIR and mask & (MOVED_TO | CREATE):
            with suppress(OSError):
                self.add(path, report=bool(mask & CREATE))

    def forget(self, path: bytes) -> None:
        """Drop the watches of a tree that moved."""
        for watch, known in list(self.paths.items()):
            if known == path or known.startswith(path + b"/"):
                libc.inotify_rm_watch(self.inotify, watch)
                del self.paths[watch]


def join(directory: bytes, name: bytes) -> bytes:
    """Return a path from the root."""
    return name if directory == b"." else directory + b"/" + name


def events(data: bytes) -> Iterator[tuple[int, int, int, bytes]]:
    """Return the events of one read of an inotify descriptor."""
    at = 0
    while at < len(data):
        watch, mask, cookie, length = EVENT.unpack_from(data, at)
        at += EVENT.size
        yield watch, mask, cookie, data[at : at + length].rstrip(b"\0")
        at += length


def do_watch(root: int, path: bytes, *, recursive: bool) -> int:
    """Watch until the reader of the output is gone."""
    watches = Watches(root, recursive=recursive)
    watches.add(path)
    print("ready", flush=True)
    poll = select.poll()
    poll.register(watches.inotify, select.POLLIN)
    poll.register(1, 0)
    while all(fd != 1 for fd, _ in poll.poll()):
        for event in events(os.read(watches.inotify, 1 << 16)):
            watches.handle(*event)
        watches.settle()
        print(end="", flush=True)
    return 0
