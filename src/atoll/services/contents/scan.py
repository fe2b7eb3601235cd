"""Scans of disk images: which pieces a content has, and which of them its base has not.

An image is cut on a grid, so that what changes in one place moves nothing elsewhere. Pieces of
zeros are holes, whether the file has holes there or not. Everything here blocks, and runs in
threads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from atoll.domain.contents.keys import ContentKeys
from atoll.ports.contents.images import DiskImage
from atoll.wire.contents.manifest import Manifest

PIECE_BYTES: Final = 64 * 1024
WINDOW_BYTES: Final = 2**20
"""The largest bundle: 16 pieces of an image, where nothing is known before."""

_ZEROS: Final = bytes(PIECE_BYTES)


@dataclass(slots=True)
class ImagePiece:
    """A piece of an image. It has `data`, or is the base's piece at `place`."""

    offset: int
    length: int
    digest: bytes
    data: bytes | None
    place: tuple[int, int] | None = None


@dataclass(slots=True)
class Bundle:
    """Pieces that are stored together, as number `number` of the manifest."""

    number: int
    pieces: list[bytes] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)

    @property
    def size(self) -> int:
        """The bytes of its pieces."""
        return sum(map(len, self.pieces))


class Base:
    """The pieces of an earlier content that may be used again. `usable` are its blobs that are
    whole as far as anybody knows. Of a bundle that it hardly uses, nothing is used again: what is
    left of it is stored anew, so a content never keeps more than twice its pieces alive."""

    def __init__(self, manifest: Manifest, usable: frozenset[str]) -> None:
        self._manifest = manifest
        self._grid = manifest.grid(PIECE_BYTES)
        self._usable = [
            bundle.name in usable and 2 * count >= bundle.pieces
            for bundle, count in zip(manifest.bundles, manifest.used(), strict=True)
        ]

    def find(self, offset: int, digest: bytes) -> tuple[int, int] | None:
        """Return the bundle's number and the place of an equal piece at this offset."""
        index = self._grid.find(offset)
        if index is None or self._manifest.digest_at(index) != digest:
            return None
        number, place = self._manifest.place_at(index)
        return (number, place) if self._usable[number] else None


def find_windows(image: DiskImage) -> Iterator[tuple[int, int]]:
    """Yield the parts of an image that hold data, each within one window of the grid, with ends on
    the grid of pieces."""
    done = 0
    for start, end in image.data_spans():
        at = max(start - start % PIECE_BYTES, done)
        while at < end:
            stop = min(at - at % WINDOW_BYTES + WINDOW_BYTES, -(-end // PIECE_BYTES) * PIECE_BYTES)
            yield at, min(stop, image.size)
            at = stop
        done = max(done, at)


def scan_windows(
    image: DiskImage, windows: Sequence[tuple[int, int]], keys: ContentKeys, base: Base | None
) -> list[ImagePiece]:
    """Return the pieces of these windows that are no zeros. Raises what the image raises."""
    pieces = []
    for start, end in windows:
        data = image.read(start, end - start)
        for at in range(0, len(data), PIECE_BYTES):
            piece = data[at : at + PIECE_BYTES]
            if piece == _ZEROS[: len(piece)]:
                continue
            digest = keys.piece_digest(piece)
            place = None if base is None else base.find(start + at, digest)
            data_of_piece = piece if place is None else None
            pieces.append(ImagePiece(start + at, len(piece), digest, data_of_piece, place))
    return pieces
