"""An image's layers, unpacked one over the other into the directory that is this process's root.

Runs confined (`confine`): a name can lead nowhere else, whatever links an image holds. Links are
followed as in the image's own root, which is what layers mean by them. Modes lose their special
bits; devices, pipes and sockets are left out.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import stat
import tarfile
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from atoll.adapters.trees.image_parts import ImageContents, LayerFile
from atoll.domain.errors import Failed, Invalid, LimitReached
from atoll.domain.size import MIB

CHUNK_BYTES = MIB
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
_ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """The bounds on a tree."""

    bytes: int = 16 * 2**30
    files: int = 1_000_000


class Unpacked(msgspec.Struct, frozen=True):
    """The result; `left_out` counts devices and the like."""

    bytes: int = 0
    files: int = 0
    left_out: int = 0


def unpack(image: ImageContents, caps: TreeLimits) -> Unpacked:
    """Fill the current root. Raises `Invalid` (unsafe names), `Failed` (damaged), `LimitReached`,
    `OSError`."""
    work = _Work(caps)
    for number, layer in enumerate(image.layers, 1):
        work.lay(layer, number)
    for path, mode in work.folders.items():
        os.chmod(path, mode)  # noqa: PTH101
    return Unpacked(work.bytes, work.files, work.left_out)


class _Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, empty at the end."""
        ...


class _HashedStretch(io.RawIOBase):
    """A stretch of a file, read once from its beginning while its digest is computed."""

    def __init__(self, layer: LayerFile) -> None:
        self._at = layer.stretch.start
        self._left = layer.stretch.size
        self._fd = layer.stretch.fd
        self.sha = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Read the next bytes."""
        data = os.pread(self._fd, min(len(buffer), self._left), self._at)
        self._at += len(data)
        self._left -= len(data)
        self.sha.update(data)
        buffer[: len(data)] = data
        return len(data)


class _HashedStream(io.RawIOBase):
    """A stream whose digest is computed, and whose length is bounded."""

    def __init__(self, source: "_Readable", most: int) -> None:
        self._source = source
        self._left = most
        self.sha = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Read the next bytes. Raises `LimitReached`."""
        data = self._source.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise LimitReached("a layer of the image unpacks to more than a tree may be")
        self.sha.update(data)
        buffer[: len(data)] = data
        return len(data)


@dataclass(slots=True)
class _Work:
    """The tree so far. `folders` are the modes set at the end: a read-only directory must first be
    filled."""

    caps: TreeLimits
    bytes: int = 0
    files: int = 0
    left_out: int = 0
    folders: dict[str, int] = field(default_factory=dict)
    _of_layer: set[str] = field(default_factory=set)

    def lay(self, layer: LayerFile, number: int) -> None:
        """Unpack one layer over those before."""
        self._of_layer = set()
        raw = _HashedStretch(layer)
        plain = _HashedStream(_open_tar(raw), 2 * self.caps.bytes + 1024 * self.caps.files)
        try:
            with tarfile.open(fileobj=io.BufferedReader(plain, CHUNK_BYTES), mode="r|") as archive:
                for entry in archive:
                    self._unpack_entry(archive, entry)
            _drain(plain)
            _drain(raw)
        except (tarfile.TarError, EOFError, gzip.BadGzipFile, lzma.LZMAError) as err:
            raise Failed(f"layer {number} of the image cannot be read: {err}") from err
        _check(layer.digest, raw.sha.hexdigest(), number)
        _check(layer.diff_id, plain.sha.hexdigest(), number)

    def _unpack_entry(self, archive: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        """Unpack an entry of a layer, or remove what its whiteout names."""
        name = _safe(entry.name)
        if name == "":
            return
        self.files += 1
        if self.files > self.caps.files:
            raise LimitReached(f"the image has more than {self.caps.files} files")
        parent, _, last = name.rpartition("/")
        folder = self._folder(parent)
        if last == OPAQUE:
            self._empty(folder)
        elif last.startswith(WHITEOUT):
            gone = last.removeprefix(WHITEOUT)
            if gone in ("", ".", ".."):
                raise Invalid(f"the image takes {name[:200]!r} away, which is no file's name")
            _remove(f"{folder}/{gone}")
        else:
            self._of_layer.add(f"{folder}/{last}")
            self._place(archive, entry, f"{folder}/{last}")

    def _folder(self, name: str) -> str:
        """Return the directory for entries of `name`, links followed as in the root; made when
        absent."""
        at = os.path.realpath("/" + name)
        try:
            os.makedirs(at, mode=0o755, exist_ok=True)  # noqa: PTH103
        except (FileExistsError, NotADirectoryError) as err:
            raise Failed(f"the image puts files below {at[:200]!r}, which is no folder") from err
        return at.rstrip("/")

    def _empty(self, folder: str) -> None:
        """Remove what lower layers had here; what this one brought stays."""
        for name in os.listdir(folder or "/"):  # noqa: PTH208
            path = f"{folder}/{name}"
            if path not in self._of_layer and not any(
                each.startswith(path + "/") for each in self._of_layer
            ):
                _remove(path)

    def _place(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> None:
        there = _mode_of(path)
        if there is not None and not (entry.isdir() and stat.S_ISDIR(there)):
            _remove(path)
        if entry.isdir():
            os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103
            self.folders[path] = (entry.mode & 0o777) | 0o700
        elif entry.issym():
            os.symlink(_target(entry.linkname), path)  # noqa: PTH211
        elif entry.islnk():
            goal = self._folder(_safe(entry.linkname).rpartition("/")[0])
            os.link(
                f"{goal}/{_safe(entry.linkname).rpartition('/')[2]}", path, follow_symlinks=False
            )
        elif entry.isreg():
            self._file(archive, entry, path)
        else:
            self.left_out += 1

    def _file(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, path: str) -> None:
        if entry.size < 0:
            raise Failed(f"the image says that {path[:200]!r} is smaller than nothing")
        self.bytes += entry.size
        if self.bytes > self.caps.bytes:
            raise LimitReached(f"the image is larger than {self.caps.bytes // MIB} MiB")
        data = archive.extractfile(entry)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        with os.fdopen(fd, "wb") as out:
            if data is not None:
                shutil.copyfileobj(data, out, CHUNK_BYTES)
            out.flush()
            os.fchmod(fd, (entry.mode & 0o777) | 0o400)
            os.utime(fd, (_moment(entry), _moment(entry)))


def _open_tar(raw: io.RawIOBase) -> "_Readable":
    """Open the tar in a layer, however it is compressed. Raises `Invalid`."""
    buffered = io.BufferedReader(raw, CHUNK_BYTES)
    head = buffered.peek(6)[:6]
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=buffered)
    if head.startswith(b"BZh"):
        return bz2.BZ2File(buffered)
    if head.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMAFile(buffered)
    if head.startswith(_ZSTD):
        raise Invalid(
            "the image is compressed by zstd, which cannot be read here: save it with gzip "
            "(`skopeo copy --dest-compress-format gzip …`)"
        )
    return buffered


def _drain(stream: io.RawIOBase) -> None:
    """Read to the end, so that a digest covers everything."""
    while stream.read(CHUNK_BYTES):
        pass


def _check(wanted: str | None, found: str, number: int) -> None:
    if wanted is not None and wanted != f"sha256:{found}":
        raise Failed(f"layer {number} of the image is damaged: its digest is another")


def _safe(name: str) -> str:
    """Return a name relative to the root, without `.`; empty for the root itself. Raises
    `Invalid`."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\0" in name:
        raise Invalid(f"the image holds {name[:200]!r}, which leads out of its root")
    return "/".join(parts)


def _target(goal: str) -> str:
    if not goal or "\0" in goal:
        raise Failed("the image holds a link to nowhere")
    return goal


def _moment(entry: tarfile.TarInfo) -> int:
    """Return a file's time, within the range of file systems."""
    try:
        return max(0, min(int(entry.mtime), 2**33))
    except (ValueError, OverflowError):
        return 0


def _mode_of(path: str) -> int | None:
    """Return the mode of a path; None when nothing is there."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _remove(path: str) -> None:
    """Remove a file, a link or a whole directory, if there is one."""
    there = _mode_of(path)
    if there is None:
        return
    if stat.S_ISDIR(there):
        shutil.rmtree(path)
    else:
        os.unlink(path)  # noqa: PTH108
