"""The making of one content: what of an image is new is packed, sealed and stored.

A draft stands in the store before its first blob, and refers to every blob that it found there, in
the transaction that found it. A blob that something refers to is not collected, and names are used
once. So nothing that a collection deletes can be needed, however late its deletion arrives. The
draft becomes the content, with its own blobs, in one transaction; a draft that was abandoned, or
taken for that, never does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from atoll.domain.contents.content import DRAFT_LIFE, Content, ContentId
from atoll.domain.contents.keys import ContentKeys
from atoll.domain.errors import LimitReached, Unavailable
from atoll.domain.ids import OrgId
from atoll.ports import Transaction
from atoll.ports.contents.blobs import Blobs
from atoll.ports.contents.images import DiskImage
from atoll.ports.contents.sealing import BlobSealer
from atoll.ports.store.contents import ContentBlob
from atoll.services.contents.scan import (
    PIECE_BYTES,
    WINDOW_BYTES,
    Base,
    Bundle,
    ImagePiece,
    find_windows,
    scan_windows,
)
from atoll.services.ground import Ground
from atoll.wire.contents.bundle import join_pieces
from atoll.wire.contents.manifest import Manifest, Piece, StoredBundle

BATCH_WINDOWS: Final = 16
"""The windows that are read at once: 16 MiB."""
BATCHES: Final = 2
"""The batches that are being stored at once."""
THREADS: Final = 3
"""The threads that one content keeps busy at once."""

Then = Callable[[Transaction, Content], Awaitable[None]]
"""An act within the transaction in which a content comes to be."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports that contents are made and read with."""

    ground: Ground
    blobs: Blobs
    sealer: BlobSealer


class Upload:
    """A content that is being made, as draft `content_id`. `folder` holds the organization's
    blobs."""

    def __init__(
        self, tools: Tools, content_id: ContentId, org_id: OrgId, folder: str, keys: ContentKeys
    ) -> None:
        self._tools = tools
        self._id = content_id
        self._org_id = org_id
        self._folder = folder
        self._keys = keys
        self._manifest = Manifest()
        self._names: dict[int, StoredBundle] = {}
        self._blobs: list[ContentBlob] = []
        self._by_digest: dict[str, str] = {}
        self._open: Bundle | None = None
        self._threads = asyncio.Semaphore(THREADS)
        self._renew_at = tools.ground.clock.now() + DRAFT_LIFE / 4

    async def take(self, image: DiskImage, base: Manifest | None, usable: frozenset[str]) -> None:
        """Store what the image has and the base has not. Raises what blobs, image and store
        raise, and `LimitReached` for an image with too many pieces."""
        self._manifest.size = image.size
        known = None if base is None else Base(base, usable)
        numbers: dict[int, int] = {}
        room = asyncio.Semaphore(BATCHES)
        windows = await asyncio.to_thread(lambda: list(find_windows(image)))
        async with asyncio.TaskGroup() as tasks:
            for at in range(0, len(windows), BATCH_WINDOWS):
                await room.acquire()
                pieces = await self._scan(image, windows[at : at + BATCH_WINDOWS], known)
                ready = self._place(pieces, base, numbers)
                tasks.create_task(self._store(ready, room))
            if self._open is not None:
                await room.acquire()
                tasks.create_task(self._store([self._open], room))

    async def commit(self, then: Then) -> Content:
        """Make the draft into a content, and call `then` in that transaction. Raises `Unavailable`
        where the draft has ended, and what `then` raises: there is no content then."""
        manifest = self._manifest
        manifest.bundles = [self._names[number] for number in range(len(self._names))]
        data = sum(piece.length for piece in manifest.pieces())
        name = f"{self._folder}/{self._id}/manifest"
        sealed = await asyncio.to_thread(self._seal_manifest, name)
        await self._tools.blobs.put(name, sealed)
        self._blobs.append(ContentBlob(name, "", len(sealed)))
        content = Content(
            id=self._id,
            org_id=self._org_id,
            size=manifest.size,
            data=data,
            stored=sum(blob.size for blob in self._blobs),
            chunks=len(manifest),
            made_at=self._tools.ground.clock.now(),
        )
        needed = {bundle.name for bundle in manifest.bundles}
        async with self._tools.ground.store.begin() as rows:
            if not await rows.contents.commit(content):
                raise _ended(self._id)
            await rows.content_blobs.add(self._org_id, self._blobs)
            referred = (await rows.content_blobs.names(self._id)).keys()
            await rows.content_blobs.release(self._id, referred - needed)
            await rows.content_blobs.refer(self._id, [*(needed - referred), name])
            await then(rows, content)
        return content

    async def _scan(
        self, image: DiskImage, windows: Sequence[tuple[int, int]], base: Base | None
    ) -> list[ImagePiece]:
        """Return the pieces of a batch; two threads read and compute."""
        half = -(-len(windows) // 2)
        halves = await asyncio.gather(
            *(
                asyncio.to_thread(scan_windows, image, part, self._keys, base)
                for part in (windows[:half], windows[half:])
                if part
            )
        )
        return [piece for part in halves for piece in part]

    def _place(
        self, pieces: Sequence[ImagePiece], base: Manifest | None, numbers: dict[int, int]
    ) -> list[Bundle]:
        """Note where each piece lies; return the bundles that are complete. `numbers` are those of
        the base's bundles, by the base's own."""
        ready: list[Bundle] = []
        whole = _whole_windows(pieces)
        at: int | None = None
        for piece in pieces:
            window = piece.offset // WINDOW_BYTES
            if piece.place is not None and base is not None:
                number = self._number_of(base, piece.place[0], numbers)
                place = piece.place[1]
            else:
                # A window of new pieces alone is a bundle: the same in other images.
                if self._open is not None and window in whole and window != at:
                    ready.append(self._close())
                number, place = self._append(piece)
            at = window
            self._note(Piece(piece.offset, piece.length, piece.digest, number, place))
            if self._open is not None and self._open.size >= WINDOW_BYTES:
                ready.append(self._close())
        if self._open is not None and (at in whole or base is None):
            ready.append(self._close())
        return ready

    def _note(self, piece: Piece) -> None:
        try:
            self._manifest.add(piece)
        except ValueError as error:
            raise LimitReached(f"The image is too large for a content: {error}.") from error

    def _number_of(self, base: Manifest, number: int, numbers: dict[int, int]) -> int:
        """Return the number here of a bundle of the base."""
        if number not in numbers:
            numbers[number] = self._next_number()
            self._names[numbers[number]] = base.bundles[number]
        return numbers[number]

    def _next_number(self) -> int:
        number = len(self._manifest.bundles)
        self._manifest.bundles.append(StoredBundle("", 0))
        return number

    def _append(self, piece: ImagePiece) -> tuple[int, int]:
        if self._open is None:
            self._open = Bundle(self._next_number())
        self._open.pieces.append(piece.data or b"")
        self._open.digests.append(piece.digest)
        return self._open.number, len(self._open.pieces) - 1

    def _close(self) -> Bundle:
        assert self._open is not None  # noqa: S101 - its caller has looked
        bundle, self._open = self._open, None
        return bundle

    async def _store(self, bundles: Sequence[Bundle], room: asyncio.Semaphore) -> None:
        """Store the bundles that the organization has not."""
        try:
            digests = {
                bundle.number: self._keys.bundle_digest(bundle.digests) for bundle in bundles
            }
            known = {**await self._refer(set(digests.values())), **self._by_digest}
            async with asyncio.TaskGroup() as tasks:
                for bundle in bundles:
                    digest = digests[bundle.number]
                    if digest in known:
                        self._names[bundle.number] = StoredBundle(known[digest], len(bundle.pieces))
                    else:
                        tasks.create_task(self._put(bundle, digest))
        finally:
            room.release()

    async def _refer(self, digests: set[str]) -> dict[str, str]:
        """Return the organization's blobs of these digests, which this draft refers to from now
        on, and renew the draft. Raises `Unavailable` where it has ended."""
        ground = self._tools.ground
        async with ground.store.read() as rows:
            known = await rows.content_blobs.find(self._org_id, digests)
        now = ground.clock.now()
        if not known and now < self._renew_at:
            return {}
        async with ground.store.begin() as rows:
            if not await rows.contents.renew(self._id, now + DRAFT_LIFE):
                raise _ended(self._id)
            known = await rows.content_blobs.find(self._org_id, digests)
            await rows.content_blobs.refer(self._id, known.values())
        self._renew_at = now + DRAFT_LIFE / 4
        return known

    async def _put(self, bundle: Bundle, digest: str) -> None:
        name = f"{self._folder}/{self._id}/{bundle.number}"
        async with self._threads:
            sealed = await asyncio.to_thread(self._seal, name, bundle)
            await self._tools.blobs.put(name, sealed)
        self._blobs.append(ContentBlob(name, digest, len(sealed)))
        self._names[bundle.number] = StoredBundle(name, len(bundle.pieces))
        self._by_digest[digest] = name

    def _seal(self, name: str, bundle: Bundle) -> bytes:
        return self._tools.sealer.seal(self._keys.seal_key(name), name, join_pieces(bundle.pieces))

    def _seal_manifest(self, name: str) -> bytes:
        return self._tools.sealer.seal(self._keys.seal_key(name), name, self._manifest.encode())


def _whole_windows(pieces: Sequence[ImagePiece]) -> frozenset[int]:
    """Return the windows all of whose pieces are new, and more than a few."""
    counts: dict[int, list[int]] = {}
    for piece in pieces:
        count = counts.setdefault(piece.offset // WINDOW_BYTES, [0, 0])
        count[piece.data is None] += 1
    most = WINDOW_BYTES // PIECE_BYTES
    return frozenset(window for window, (new, old) in counts.items() if not old and 2 * new >= most)


def _ended(content_id: ContentId) -> Unavailable:
    return Unavailable(
        f"The content {content_id} took too long and was given up: nothing was kept. Try again."
    )
