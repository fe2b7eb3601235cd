"""The tool `tar`: a tree as a POSIX (pax) archive on stdout; sockets, pipes and devices are
omitted.
"""

import os
import stat
import sys
import tarfile
from dataclasses import dataclass, field

from .kernel import open_beneath
from .places import DIRECTORY, PARTIAL, enter, leave, names_of, open_parent

READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


class PaddedFile:
    """A file that gives exactly its announced size, whatever happens to it meanwhile."""

    def __init__(self, fd: int) -> None:
        self.fd, self.short = fd, False

    def read(self, size: int) -> bytes:
        """Return so many bytes, zeros after the end."""
        data = bytearray()
        while len(data) < size and (more := os.read(self.fd, size - len(data))):
            data += more
        self.short |= len(data) < size
        return bytes(data.ljust(size, b"\0"))


@dataclass
class Level:
    """A directory on the way: its remaining names, its name in the archive, the way back."""

    names: list[bytes]
    prefix: bytes
    was: tuple[int, int] = field(default=(0, 0))


class Packer:
    """A writer of one archive."""

    def __init__(self) -> None:
        self.out = tarfile.open(  # noqa: SIM115  # lives as long as this; do_tar closes it
            fileobj=sys.stdout.buffer,
            mode="w|",
            format=tarfile.PAX_FORMAT,
            encoding="utf-8",
            errors="surrogateescape",
        )
        self.partial = False

    def tree(self, directory: int) -> None:
        """Write everything beneath; one descriptor is held, however deep it goes."""
        levels = [Level(names_of(directory)[::-1], b"")]
        while levels:
            if not levels[-1].names:
                done = levels.pop()
                directory = leave(directory, done.was) if levels else directory
                continue
            name = levels[-1].names.pop()
            path = levels[-1].prefix + name
            try:
                seen = os.stat(name, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                continue
            if not stat.S_ISDIR(seen.st_mode):
                self.leaf(directory, path, seen)
                continue
            self.out.addfile(_info(path, tarfile.DIRTYPE, seen))
            try:
                directory, was = enter(directory, name)
                levels.append(Level(names_of(directory)[::-1], path + b"/", was))
            except PermissionError:
                self.left_out(path)

    def leaf(self, directory: int, path: bytes, seen: os.stat_result) -> None:
        """Write a file or a link."""
        name = path.rpartition(b"/")[2]
        if stat.S_ISLNK(seen.st_mode):
            info = _info(path, tarfile.SYMTYPE, seen)
            info.linkname = os.fsdecode(os.readlink(name, dir_fd=directory))
            self.out.addfile(info)
        elif stat.S_ISREG(seen.st_mode):
            try:
                fd = os.open(name, READ, dir_fd=directory)
            except OSError:
                self.left_out(path)
                return
            with os.fdopen(fd, "rb", buffering=0):
                seen = os.fstat(fd)
                if not stat.S_ISREG(seen.st_mode):
                    self.left_out(path)
                    return
                padded, info = PaddedFile(fd), _info(path, tarfile.REGTYPE, seen)
                info.size = seen.st_size
                self.out.addfile(info, padded)  # type: ignore[arg-type]  # it only reads
                self.partial |= padded.short

    def left_out(self, path: bytes) -> None:
        """Report omitted entries once, since a pipe holds only so much, and by the exit code."""
        if not self.partial:
            print("0 tar: left out", ascii(path), file=sys.stderr)
        self.partial = True


def _info(path: bytes, kind: bytes, seen: os.stat_result) -> tarfile.TarInfo:
    info = tarfile.TarInfo(os.fsdecode(path))
    info.type, info.mode, info.mtime = kind, seen.st_mode & 0o777, max(int(seen.st_mtime), 0)
    return info


def do_tar(root: int, path: bytes) -> int:
    """Write a directory's contents, or one file under its own name."""
    packer = Packer()
    try:
        directory = open_beneath(root, path, DIRECTORY)
    except NotADirectoryError:
        parent, name = open_parent(root, path)
        packer.leaf(parent, name, os.stat(name, dir_fd=parent, follow_symlinks=False))
    else:
        packer.tree(directory)
    packer.out.close()
    return PARTIAL if packer.partial else 0
