"""Checks on a pack and its index from an importer: against the bundle, and each other.

The bundle's content may have taken over the importer, so its files are hostile. Nothing is inflated
and no object is parsed here: bytes are compared and hashed. Formats: gitformat-pack(5).
"""

import hashlib
import os
import re
import stat
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from atoll.domain.errors import Invalid

_HEAD = struct.Struct(">4sII")
_HASH_BYTES = 20
_INDEX_HEAD = b"\xfftOc\0\0\0\2"
_FANOUT_BYTES = 256 * 4
_ENTRY_BYTES = 20 + 4 + 4
_FAR_BYTES = 8
_CHUNK_BYTES = 2**20
_NAME = re.compile(r"pack-[0-9a-f]{40}\.(pack|idx)")
_IGNORED = ".rev"
"""The reverse indexes: git works without them, and a missing file cannot be forged."""


@dataclass(frozen=True, slots=True)
class PackFiles:
    """A pack and its index."""

    pack: Path
    index: Path


def check_pack_files(folder: Path, bundle: Path, offset: int) -> PackFiles:
    """Return the one pack in `folder`, made of the pack at `offset` of `bundle`.

    Raises `Invalid` unless it holds these bytes and after them only the missing bases of a thin
    pack, and its index has the matching size and checksums.
    """
    files = _find_files(folder)
    with (
        _open_regular_file(files.pack) as pack,
        _open_regular_file(files.index) as index,
        _open_regular_file(bundle) as bundle_file,
    ):
        checksum, objects = _check_pack(pack, bundle_file, offset)
        _check_index(index, checksum, objects)
    return files


def _find_files(folder: Path) -> PackFiles:
    names = sorted(entry.name for entry in os.scandir(folder) if not entry.name.endswith(_IGNORED))
    if len(names) != 2 or not all(map(_NAME.fullmatch, names)):
        raise _misfit_error("it is not one pack with one index")
    index, pack = (folder / name for name in names)
    if pack.stem != index.stem or pack.suffix == index.suffix:
        raise _misfit_error("it is not one pack with one index")
    return PackFiles(pack, index)


def _open_regular_file(path: Path) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as err:
        raise _misfit_error(f"{path.suffix} cannot be opened: {err.strerror}") from err
    file = os.fdopen(fd, "rb")
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        file.close()
        raise _misfit_error("it is not one pack with one index")
    return file


def _check_pack(pack: BinaryIO, bundle: BinaryIO, offset: int) -> tuple[bytes, int]:
    """Check a pack; return its checksum and the number of its objects."""
    bundle.seek(offset)
    signature, version, count = _HEAD.unpack(_read_exactly(bundle, _HEAD.size))
    head = _read_exactly(pack, _HEAD.size)
    if head[:8] != signature + struct.pack(">I", version):
        raise _misfit_error("its pack has another head")
    (objects,) = struct.unpack_from(">I", head, 8)
    digest = hashlib.sha1(head, usedforsecurity=False)
    bytes_left = os.fstat(bundle.fileno()).st_size - offset - _HEAD.size - _HASH_BYTES
    while bytes_left > 0:
        chunk = _read_exactly(pack, min(bytes_left, _CHUNK_BYTES))
        if chunk != bundle.read(len(chunk)):
            raise _misfit_error("its pack holds other bytes than the bundle")
        digest.update(chunk)
        bytes_left -= len(chunk)
    added = os.fstat(pack.fileno()).st_size - pack.tell() - _HASH_BYTES
    if objects < count or (objects > count) != (added > 0):
        raise _misfit_error("its pack counts other objects than it holds")
    while added > 0:
        chunk = _read_exactly(pack, min(added, _CHUNK_BYTES))
        digest.update(chunk)
        added -= len(chunk)
    checksum = _read_exactly(pack, _HASH_BYTES)
    if checksum != digest.digest():
        raise _misfit_error("the checksum of its pack is wrong")
    return checksum, objects


def _check_index(index: BinaryIO, checksum: bytes, objects: int) -> None:
    head = _read_exactly(index, len(_INDEX_HEAD) + _FANOUT_BYTES)
    (counted,) = struct.unpack_from(">I", head, len(head) - 4)
    usual = len(head) + objects * _ENTRY_BYTES + 2 * _HASH_BYTES
    far, odd = divmod(os.fstat(index.fileno()).st_size - usual, _FAR_BYTES)
    if not head.startswith(_INDEX_HEAD) or counted != objects or odd or not 0 <= far <= objects:
        raise _misfit_error("its index has another size than its pack needs")
    digest = hashlib.sha1(head, usedforsecurity=False)
    bytes_left = usual + far * _FAR_BYTES - len(head) - 2 * _HASH_BYTES
    while bytes_left > 0:
        chunk = _read_exactly(index, min(bytes_left, _CHUNK_BYTES))
        digest.update(chunk)
        bytes_left -= len(chunk)
    named = _read_exactly(index, _HASH_BYTES)
    digest.update(named)
    if named != checksum or _read_exactly(index, _HASH_BYTES) != digest.digest():
        raise _misfit_error("the checksums of its index are wrong")


def _read_exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise _misfit_error("it ends too early")
    return data


def _misfit_error(why: str) -> Invalid:
    return Invalid(f"The bundle was refused: what git made of it does not fit: {why}.")
