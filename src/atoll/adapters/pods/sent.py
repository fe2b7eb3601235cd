"""Mounts for those who cannot see our disk: a directory as one tar, named by its content.

The same content gives the same bytes, so that a machine which has them needs no second copy. A
mount that is `live` (a shared repository) is sent as it is now: send it again before each start.
Everything here blocks: call it in a thread.
"""

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from atoll.domain.errors import Failed
from atoll.ports.extension import Mount

MAX_BYTES = 8 * 2**30

Kind = Literal["files", "layer", "repository"]


@dataclass(frozen=True, slots=True)
class SentMount:
    """A mount as it is sent: unpack the tar of `size` bytes at `target`, read-only. `digest` is the
    SHA-256 of the tar."""

    kind: Kind
    target: str
    digest: str
    size: int


def pack_mount(mount: Mount, into: BinaryIO, *, max_bytes: int = MAX_BYTES) -> SentMount:
    """Write the tar of a mount. Raises `Failed` for one that cannot be read or is too large."""
    counted = _Counted(into, max_bytes)
    source = Path(mount.source)
    try:
        # No times, owners or names of this machine's users are in it (POSIX.1-2001, pax).
        with tarfile.open(None, "w|", counted, format=tarfile.PAX_FORMAT) as tar:
            for path, name in _entries(source):
                _add(tar, path, name)
    except OSError as err:
        raise Failed(f"the mount {mount.target} cannot be sent: {err.strerror}") from err
    return SentMount(
        _mount_kind(mount, source), mount.target, counted.digest.hexdigest(), counted.size
    )


class _Counted(io.RawIOBase):
    """A file that counts and hashes what is written to it."""

    def __init__(self, into: BinaryIO, most: int) -> None:
        super().__init__()
        self._into = into
        self._most = most
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, data: Any, /) -> int:
        self.size += len(data)
        if self.size > self._most:
            raise Failed(f"a mount is larger than {self._most} bytes: it is not sent")
        self.digest.update(data)
        return self._into.write(data)


def _mount_kind(mount: Mount, source: Path) -> Kind:
    if mount.live:
        return "repository"
    return "layer" if source.is_dir() and (source / "bin").is_dir() else "files"


def _entries(source: Path) -> Iterator[tuple[Path, str]]:
    """Yield paths with their names in the tar, in order. No link is followed."""
    if not source.is_dir():
        yield source, source.name
        return
    for folder, folders, files in os.walk(source, onerror=_raise):
        folders.sort()
        here = Path(folder)
        links = [name for name in folders if (here / name).is_symlink()]
        if here != source:
            yield here, here.relative_to(source).as_posix()
        for name in sorted((*files, *links)):
            yield here / name, (here / name).relative_to(source).as_posix()


def _raise(error: OSError) -> None:
    raise error


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a directory, a plain file or a link; anything else is left out."""
    found = path.lstat()
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755 if found.st_mode & 0o111 else 0o644
    if stat.S_ISLNK(found.st_mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, str(path.readlink())
        tar.addfile(entry)
    elif stat.S_ISDIR(found.st_mode):
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    elif stat.S_ISREG(found.st_mode):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            entry.size = os.fstat(descriptor).st_size
            tar.addfile(entry, file)
