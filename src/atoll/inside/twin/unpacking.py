"""The tool `untar`: an archive from stdin into a directory, without trust in it.

It allows no absolute or `..` name, no device, and links only to places within. No symlink is
followed on the way to a name, not even one the archive itself just made.
"""

import os
import sys
import tarfile
from contextlib import suppress

from .kernel import open_beneath
from .places import DIRECTORY, NOFOLLOW, OVER_LIMIT, UNSAFE, Denied, make_parents

OUTSIDE = "the archive holds a link that leads outside"


def do_untar(root: int, path: bytes, values: dict[bytes, bytes]) -> int:
    """Extract, then print how many files and bytes."""
    os.umask(0o022)
    make_parents(root, path)
    base = open_beneath(root, path, DIRECTORY)
    max_files = int(values.get(b"--max-files", b"1000000"))
    max_bytes = int(values.get(b"--max-bytes", str(1 << 40).encode()))
    files = size = 0
    place = ExtractDirectory(base)
    try:
        with tarfile.open(fileobj=sys.stdin.buffer, mode="r|", errors="surrogateescape") as archive:
            for info in archive:
                files, size = files + 1, size + (info.size if info.isreg() else 0)
                if files > max_files or size > max_bytes:
                    raise Denied(OVER_LIMIT, "the archive holds more files or bytes than allowed")
                _extract(archive, info, place)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Denied(UNSAFE, f"this is not a whole tar archive ({error})") from error
    while sys.stdin.buffer.read(65536):
        pass  # the sender may pad: let it finish
    print(files, size)
    return 0


class ExtractDirectory:
    """The directory of the last file. Most files lie in or below the directory of the one before;
    otherwise a deep tree would be walked from its top for every name."""

    def __init__(self, base: int) -> None:
        self.base = self.fd = base
        self.parts: list[bytes] = []

    def walk(self, parts: list[bytes]) -> int:
        """Open a directory, making its missing parts."""
        known = len(self.parts)
        if parts[:known] == self.parts:
            at = _walk(self.fd, parts[known:], make=True)
        else:
            at = _walk(self.base, parts, make=True)
        if self.fd != self.base:
            os.close(self.fd)
        self.fd, self.parts = os.open(".", DIRECTORY, dir_fd=at), parts
        return at


def _extract(archive: tarfile.TarFile, info: tarfile.TarInfo, place: "ExtractDirectory") -> None:
    parts = _parts(os.fsencode(info.name))
    if parts is None:
        raise Denied(UNSAFE, "the archive holds an absolute name or one with '..'")
    known = info.isreg() or info.isdir() or info.issym() or info.islnk()
    if not known or info.issparse():
        raise Denied(UNSAFE, "the archive holds a device, a pipe or a kind unknown here")
    if not parts:
        return
    at = place.walk(parts[:-1])
    try:
        if info.isdir():
            fd = _child(at, parts[-1], make=True)
            os.fchmod(fd, info.mode & 0o777 | 0o700)
            os.close(fd)
        elif info.isreg():
            _write(archive, info, at, parts[-1])
        else:
            _link(info, place.base, at, parts)
    finally:
        os.close(at)


def _parts(name: bytes) -> list[bytes] | None:
    """Return the parts of a safe name, None for an unsafe one."""
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    return None if name.startswith(b"/") or b".." in parts else parts


def _child(at: int, name: bytes, *, make: bool) -> int:
    try:
        return os.open(name, NOFOLLOW, dir_fd=at)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=at)
    return os.open(name, NOFOLLOW, dir_fd=at)


def _walk(base: int, parts: list[bytes], *, make: bool) -> int:
    at = os.open(".", DIRECTORY, dir_fd=base)
    for part in parts:
        try:
            deeper = _child(at, part, make=make)
        finally:
            os.close(at)
        at = deeper
    return at


def _write(archive: tarfile.TarFile, info: tarfile.TarInfo, at: int, name: bytes) -> None:
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=at)
    source = archive.extractfile(info)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=at), "wb") as out:
        left = info.size
        while source is not None and left > 0:
            data = source.read(min(left, 1 << 16))
            if not data:
                raise Denied(UNSAFE, "the archive ends in the middle of a file")
            out.write(data)
            left -= len(data)
        out.flush()
        os.fchmod(out.fileno(), info.mode & 0o777)
        os.utime(out.fileno(), (info.mtime, info.mtime))


def _link(info: tarfile.TarInfo, base: int, at: int, parts: list[bytes]) -> None:
    target = os.fsencode(info.linkname)
    if info.issym():
        if not target or not _stays_within(target, len(parts) - 1):
            raise Denied(UNSAFE, OUTSIDE)
        with suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=at)
        os.symlink(target, parts[-1], dir_fd=at)
        return
    inner = _parts(target)
    if not inner:
        raise Denied(UNSAFE, OUTSIDE)
    source = _walk(base, inner[:-1], make=False)
    try:
        with suppress(FileNotFoundError):
            os.unlink(parts[-1], dir_fd=at)
        os.link(inner[-1], parts[-1], src_dir_fd=source, dst_dir_fd=at, follow_symlinks=False)
    finally:
        os.close(source)


def _stays_within(target: bytes, depth: int) -> bool:
    if target.startswith(b"/"):
        return False
    for part in target.split(b"/"):
        depth += -1 if part == b".." else part not in (b"", b".")
        if depth < 0:
            return False
    return True
