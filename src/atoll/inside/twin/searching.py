"""The tool `search`: names that hold a text, or the lines of files that do.

Links are not followed, and nothing but regular files is opened.
"""

import errno
import os
import stat
import sys
import time

from .kernel import open_beneath
from .places import DIRECTORY, enter, leave, names_of, open_parent, spelt

MAX_DEPTH, MAX_FILE, MAX_OF_FILE = 512, 16 << 20, 100
LEFT_OUT = frozenset(
    b".git node_modules .venv __pycache__ .mypy_cache .ruff_cache .pytest_cache .tox .gradle .next "
    b".cache".split()
)
"""Directories that programs write: left out unless --all."""

FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
KINDS = {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l"}


class Search:
    """A search at work: what is wanted, and what was found so far."""

    def __init__(self, wanted: bytes, flags: set[bytes], values: dict[bytes, bytes]) -> None:
        self.text, self.exact = b"--text" in flags, b"--exact" in flags
        self.left_out = frozenset() if b"--all" in flags else LEFT_OUT
        self.wanted = wanted if self.exact else wanted.lower()
        self.limit = int(values.get(b"--limit", b"1000"))
        self.max_files = int(values.get(b"--max-files", b"1000000"))
        self.max_bytes = int(values.get(b"--max-bytes", b"%d" % (1 << 40)))
        self.reach = int(values.get(b"--reach", b"200"))
        self.end = time.monotonic() + int(values.get(b"--seconds", b"60"))
        self.stop = ""
        self.files = self.bytes = self.matches = self.large = self.more = 0

    def over(self) -> bool:
        """Report whether a bound was reached, and keep which one."""
        if not self.stop:
            bounds = (
                ("matches", self.matches >= self.limit),
                ("files", self.files >= self.max_files),
                ("bytes", self.bytes >= self.max_bytes),
                ("time", time.monotonic() >= self.end),
            )
            self.stop = next((name for name, reached in bounds if reached), "")
        return bool(self.stop)

    def look_at(self, directory: int, name: bytes, path: bytes, mode: int) -> None:
        """Look at an entry."""
        if not self.text:
            self._name(name, path, mode)
        elif stat.S_ISREG(mode):
            self._file(directory, name, path)

    def _name(self, name: bytes, path: bytes, mode: int) -> None:
        self.files += 1
        text = path if b"/" in self.wanted else name
        if self.wanted in (text if self.exact else text.lower()):
            self.matches += 1
            print("n", KINDS.get(stat.S_IFMT(mode), "o"), spelt(path), flush=True)

    def _file(self, directory: int, name: bytes, path: bytes) -> None:
        try:
            fd = os.open(name, FILE, dir_fd=directory)
        except OSError:
            return
        data = b""
        try:
            seen = os.fstat(fd)
            if not stat.S_ISREG(seen.st_mode):
                return
            self.files += 1
            if seen.st_size > MAX_FILE:
                self.large += 1
                return
            while len(data) < MAX_FILE and (piece := os.read(fd, MAX_FILE - len(data))):
                data += piece
        except OSError:
            return
        finally:
            os.close(fd)
        self.bytes += len(data)
        if b"\0" not in data:
            self._lines(data, path)

    def _lines(self, data: bytes, path: bytes) -> None:
        """Report one match of each line, and so many of the file."""
        folded = data if self.exact else data.lower()
        at = counted = found = 0
        line = 1
        while (place := folded.find(self.wanted, at)) >= 0 and not self.over():
            found += 1
            if found > MAX_OF_FILE:
                self.more += 1
                break
            line += data.count(b"\n", counted, place)
            counted = place
            begin, size = max(0, place - self.reach), len(self.wanted)
            around = data[begin : place + size + self.reach]
            self.matches += 1
            print("t", spelt(path), line, place - begin, size, spelt(around))
            at = data.find(b"\n", place) + 1
            if not at:
                break
        if found:
            sys.stdout.flush()


def do_search(root: int, paths: list[bytes], flags: set[bytes], values: dict[bytes, bytes]) -> int:
    """Print what was found, and at last how far it looked."""
    place, wanted = paths
    search = Search(wanted, flags, values)
    try:
        directory = open_beneath(root, place, DIRECTORY)
    except OSError as error:
        if error.errno != errno.ENOTDIR:
            raise
        parent, name = open_parent(root, place)
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        search.look_at(parent, name, place, mode)
    else:
        _tree(search, directory, b"" if place == b"." else place + b"/")
    print("e", search.stop or "all", search.files, search.bytes, search.large, search.more)
    return 0


def _tree(search: Search, directory: int, path: bytes) -> None:
    """Look at everything beneath; one descriptor is held, however deep it goes."""
    levels = [(names_of(directory)[::-1], path, (0, 0))]
    while levels and not search.over():
        names, path, was = levels[-1]
        if not names:
            levels.pop()
            directory = leave(directory, was) if levels else directory
            continue
        name = names.pop()
        try:
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and name in search.left_out:
                continue
            search.look_at(directory, name, path + name, mode)
            if stat.S_ISDIR(mode) and len(levels) <= MAX_DEPTH:
                directory, was = enter(directory, name)
                levels.append((names_of(directory)[::-1], path + name + b"/", was))
        except (FileNotFoundError, PermissionError):
            continue
