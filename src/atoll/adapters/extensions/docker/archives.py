"""A saved image (`docker save`) as it is sent to the daemon: without the names it would take there.

An archive says which tags of the daemon its image shall have, and a load moves them. Every entry
is written anew while it streams, so that the daemon reads the tar that was checked here.
Format: the Docker image specification v1.2 (`manifest.json`, `repositories`), OCI image layout.
"""

import asyncio
import io
import posixpath
import re
import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import msgspec

from atoll.domain.errors import AtollError, Invalid
from atoll.wire.http.unreadable import UNREADABLE

MANIFEST, INDEX, NAMES = "manifest.json", "index.json", "repositories"
MAX_MANIFEST_BYTES = 4 * 2**20
BLOCK_BYTES = 256 * 1024
_LAYER = re.compile(r"[0-9a-f]{64}/layer\.tar")
_OTHER_LAYER = re.compile(r"\.\./[0-9a-f]{64}(?:/layer)?\.tar")
"""Target of a link to a layer that was saved before."""


class _ImageEntry(msgspec.Struct, rename="pascal"):
    """An image of `manifest.json`, without its `RepoTags`."""

    config: str
    layers: list[str]


class _Descriptor(msgspec.Struct, rename="camel", omit_defaults=True):
    """A manifest of `index.json`, without its annotations, one of which is a name."""

    media_type: str
    digest: str
    size: int
    platform: msgspec.Raw = msgspec.Raw()


class _Index(msgspec.Struct, rename="camel"):
    schema_version: int
    manifests: list[_Descriptor]
    media_type: str = "application/vnd.oci.image.index.v1+json"


@dataclass(slots=True)
class UntaggedArchive:
    """An archive to be loaded once. `refused` is the reason for a refusal, because the sender sees
    only a broken stream."""

    archive: BinaryIO
    refused: AtollError | None = None

    async def blocks(self) -> AsyncIterator[bytes]:
        """Yield the tar as the daemon may read it. Raises `Invalid` at the first entry that is not
        allowed."""
        stripped = remove_tags(self.archive)
        try:
            while block := await asyncio.to_thread(next, stripped, b""):
                yield block
        except AtollError as err:
            self.refused = err
            raise


def remove_tags(archive: BinaryIO) -> Iterator[bytes]:
    """Yield the blocks of a saved image's tar, which may be compressed, without names. Raises
    `Invalid`."""
    buffer = io.BytesIO()
    for piece in _rewrite_entries(archive):
        buffer.write(piece)
        if buffer.tell() >= BLOCK_BYTES:
            yield buffer.getvalue()
            buffer = io.BytesIO()
    yield buffer.getvalue()


def _rewrite_entries(archive: BinaryIO) -> Iterator[bytes]:
    """Yield the tar's entries, each rewritten or checked, and the end of the tar."""
    try:
        with tarfile.open(fileobj=archive, mode="r|*") as tar:
            for entry in tar:
                yield from _entry(tar, entry)
    except (tarfile.TarError, EOFError, OSError) as err:
        raise _invalid(f"its tar cannot be read: {err}") from err
    yield bytes(2 * tarfile.BLOCKSIZE)


def _entry(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
    name = _normalize_name(entry.name)
    if name in (".", NAMES):
        return
    if name in (MANIFEST, INDEX):
        data = _strip_names(name, _read(tar, entry))
        yield _header(name, tarfile.REGTYPE, size=len(data))
        yield _pad(data)
    elif entry.isdir():
        yield _header(name, tarfile.DIRTYPE)
    elif entry.issym() and _LAYER.fullmatch(name) and _OTHER_LAYER.fullmatch(entry.linkname):
        yield _header(name, tarfile.SYMTYPE, link=entry.linkname)
    elif entry.isreg():
        yield _header(name, tarfile.REGTYPE, size=entry.size)
        yield from _content(tar, entry)
    else:
        # A link could lead to the manifest by another name.
        raise _invalid(f"{name} is neither a file, a folder nor a layer saved twice")


def _normalize_name(name: str) -> str:
    """Return an entry's normal path. Raises `Invalid` when it is no part of an image."""
    plain = posixpath.normpath(name.lstrip("/"))
    if ".." in name.split("/") or not name.isascii() or not name.isprintable():
        raise _invalid(f"{name[:80]!r} is not the name of a part of an image")
    return plain


def _read(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(entry) if entry.isreg() else None
    if file is None or entry.size > MAX_MANIFEST_BYTES:
        raise _invalid(f"{entry.name} is no plain file of at most {MAX_MANIFEST_BYTES} bytes")
    return file.read()


def _strip_names(name: str, data: bytes) -> bytes:
    try:
        if name == INDEX:
            return msgspec.json.encode(msgspec.json.decode(data, type=_Index))
        # One image is asked for: others would stay in the daemon for nobody.
        return msgspec.json.encode(msgspec.json.decode(data, type=list[_ImageEntry])[:1])
    except UNREADABLE as err:
        raise _invalid(f"{name} cannot be read: {err}") from err


def _header(name: str, kind: bytes, *, size: int = 0, link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, link
    info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    return info.tobuf(tarfile.PAX_FORMAT)


def _content(tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Iterator[bytes]:
    file, bytes_left = tar.extractfile(entry), entry.size
    while file is not None and bytes_left:
        data = file.read(min(bytes_left, BLOCK_BYTES))
        if not data:
            raise _invalid(f"{entry.name} ends too early")
        bytes_left -= len(data)
        yield data
    yield bytes(-entry.size % tarfile.BLOCKSIZE)


def _pad(data: bytes) -> bytes:
    return data + bytes(-len(data) % tarfile.BLOCKSIZE)


def _invalid(why: str) -> Invalid:
    return Invalid(f"the archive is no saved image: {why}", field="image")
