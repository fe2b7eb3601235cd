"""Reading of contents: every byte is checked against the keys of its organization.

A blob's seal is bound to its name, the digests of its pieces are computed again and compared with
the manifest's, and the manifest is sealed itself. So a bit that was flipped, a blob that was cut
short, exchanged or is gone, is found before a byte of it is handed out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from atoll.domain.contents.content import Content, damaged_error
from atoll.domain.contents.keys import ContentKeys
from atoll.domain.errors import Failed, NotFound, Unavailable
from atoll.domain.size import spelled_size
from atoll.ports.contents.blobs import MAX_BLOB_BYTES
from atoll.services.contents.upload import THREADS, Tools
from atoll.wire.contents.bundle import MAX_BUNDLE_PIECES, MAX_PIECE_BYTES, split_pieces
from atoll.wire.contents.manifest import Manifest, Piece, decode_manifest

_MOST_BYTES: Final = MAX_BUNDLE_PIECES * MAX_PIECE_BYTES

Spans = list[tuple[int, memoryview]]
"""Bytes of a content by their offsets."""


class Damage(Exception):
    """A blob that is missing, or is not what was stored. The message says which."""


@dataclass(frozen=True, slots=True)
class ContentReader:
    """A reader of one content, whose blobs lie in `folder`."""

    tools: Tools
    content: Content
    folder: str
    keys: ContentKeys

    async def manifest(self) -> Manifest:
        """Return the content's manifest. Raises `Failed` where it is damaged, and what blobs
        raise."""
        name = f"{self.folder}/{self.content.id}/manifest"
        try:
            sealed = await self.tools.blobs.get(name)
            manifest = await asyncio.to_thread(self._open_manifest, name, sealed)
        except (NotFound, ValueError) as error:
            raise damaged_error(self.content.id, "its list of parts is gone or changed") from error
        if manifest.size != self.content.size or len(manifest) != self.content.chunks:
            raise damaged_error(self.content.id, "its list of parts is another one")
        return manifest

    async def read(
        self,
        manifest: Manifest,
        take: Callable[[Spans], object],
        damaged: Callable[[str], Awaitable[None]],
    ) -> None:
        """Read every blob once, and hand its pieces to `take`, in threads. The name of each that
        is damaged goes to `damaged`."""
        used: dict[int, list[Piece]] = {}
        for piece in manifest.pieces():
            used.setdefault(piece.bundle, []).append(piece)
        threads = asyncio.Semaphore(THREADS)
        async with asyncio.TaskGroup() as tasks:
            for number, pieces in used.items():
                await threads.acquire()
                name = manifest.bundles[number].name
                tasks.create_task(self._read(name, pieces, take, damaged, threads))

    async def _read(
        self,
        name: str,
        pieces: list[Piece],
        take: Callable[[Spans], object],
        damaged: Callable[[str], Awaitable[None]],
        threads: asyncio.Semaphore,
    ) -> None:
        try:
            sealed = await self.tools.blobs.get(name)
            await asyncio.to_thread(self._open, name, sealed, pieces, take)
        except (NotFound, Damage):
            await damaged(name)
        finally:
            threads.release()

    def _open(
        self, name: str, sealed: bytes, pieces: list[Piece], take: Callable[[Spans], object]
    ) -> None:
        try:
            plain = self.tools.sealer.open(self.keys.seal_key(name), name, sealed, _MOST_BYTES)
            parts = split_pieces(plain)
        except ValueError as error:
            raise Damage(name) from error
        for piece in pieces:
            if piece.place >= len(parts) or self._differs(piece, parts[piece.place]):
                raise Damage(name)
        take(_join_neighbours(plain, parts, pieces))

    def _differs(self, piece: Piece, part: memoryview) -> bool:
        return len(part) != piece.length or self.keys.piece_digest(part) != piece.digest

    def _open_manifest(self, name: str, sealed: bytes) -> Manifest:
        key = self.keys.seal_key(name)
        return decode_manifest(self.tools.sealer.open(key, name, sealed, MAX_BLOB_BYTES))


def _join_neighbours(plain: bytes, parts: list[memoryview], pieces: list[Piece]) -> Spans:
    """Return pieces with their offsets; those that lie side by side in both, as one."""
    starts = [len(plain) - sum(map(len, parts))]
    for part in parts:
        starts.append(starts[-1] + len(part))
    view, spans = memoryview(plain), []
    offset = begin = end = -1
    for piece in pieces:
        start = starts[piece.place]
        if start == end and piece.offset == offset + (end - begin):
            end += piece.length
            continue
        if end > begin:
            spans.append((offset, view[begin:end]))
        offset, begin, end = piece.offset, start, start + piece.length
    if end > begin:
        spans.append((offset, view[begin:end]))
    return spans


def parts_damaged(content: Content, names: list[str]) -> Failed:
    """Return the error of a content whose blobs of these names are damaged."""
    count = "one of its parts is" if len(names) == 1 else f"{len(names)} of its parts are"
    return damaged_error(content.id, f"{count} missing or changed")


def fetch_slow(content: Content, seconds: float) -> Unavailable:
    """Return the error of a content that was not fetched within its time."""
    return Unavailable(
        f"The disk was not fetched within {seconds:.0f} s, the most for its "
        f"{spelled_size(content.data)}: the store of contents is too slow, or does not answer. "
        "Nothing of it stays here: try again."
    )
