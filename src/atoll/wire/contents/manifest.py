"""Manifests: which pieces make a content, where each lies, and in which stored bundle.

Pieces stand in the order of their offsets. What lies between them is zeros, as in a sparse file.
A manifest is MessagePack of arrays of bytes, as a content has up to a million pieces.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from atoll.wire.contents.bundle import MAX_BUNDLE_PIECES, MAX_PIECE_BYTES

VERSION: Final = 1
MAX_PIECES: Final = 2**20
"""The most pieces of a content: 64 GiB of data in pieces of 64 KiB."""
DIGEST_BYTES: Final = 16


class Piece(NamedTuple):
    """A piece of a content: its bytes stand in bundle number `bundle`, in place `place`."""

    offset: int
    length: int
    digest: bytes
    bundle: int
    place: int


class StoredBundle(NamedTuple):
    """A bundle by the name of its blob. `pieces` is how many it has, used here or not."""

    name: str
    pieces: int


class _PackedManifest(msgspec.Struct, array_like=True, frozen=True):
    version: int
    size: int
    bundles: list[tuple[str, int]]
    runs: list[tuple[int, int]]
    lengths: bytes
    digests: bytes
    numbers: bytes
    places: bytes


_decoder = msgspec.msgpack.Decoder(_PackedManifest)


class Manifest:
    """The pieces of one content of `size` bytes. `bundles` may be filled in after the pieces."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.bundles: list[StoredBundle] = []
        self._runs: list[tuple[int, int]] = []
        self._lengths = array("I")
        self._digests = bytearray()
        self._numbers = array("I")
        self._places = array("H")
        self._end = 0

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, piece: Piece) -> None:
        """Add the next piece. Raises `ValueError` for one that does not follow the last, that is
        too long, or too many."""
        if piece.offset < self._end or not 0 < piece.length <= MAX_PIECE_BYTES:
            raise ValueError("a piece out of order, or too long")
        if len(self) >= MAX_PIECES:
            raise ValueError(f"more than {MAX_PIECES} pieces")
        if self._runs and piece.offset == self._end:
            start, count = self._runs[-1]
            self._runs[-1] = (start, count + 1)
        else:
            self._runs.append((piece.offset, 1))
        self._lengths.append(piece.length)
        self._digests += piece.digest
        self._numbers.append(piece.bundle)
        self._places.append(piece.place)
        self._end = piece.offset + piece.length

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces by their offsets."""
        for index, offset in enumerate(_offsets(self._runs, self._lengths)):
            yield self._piece(index, offset)

    @property
    def end(self) -> int:
        """The end of the last piece."""
        return self._end

    def digest_at(self, index: int) -> bytes:
        """Return the digest of a piece by its number."""
        return bytes(self._digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES])

    def place_at(self, index: int) -> tuple[int, int]:
        """Return the bundle's number and the place in it of a piece by its number."""
        return self._numbers[index], self._places[index]

    def grid(self, piece_bytes: int) -> "Grid":
        """Return a look-up of pieces that lie on a grid, as those of an image do."""
        return Grid(self._runs, piece_bytes)

    def used(self) -> list[int]:
        """Return how many pieces of each bundle are in use."""
        counts = [0] * len(self.bundles)
        for number in self._numbers:
            counts[number] += 1
        return counts

    def encode(self) -> bytes:
        """Return the manifest as bytes."""
        return msgspec.msgpack.encode(
            _PackedManifest(
                VERSION,
                self.size,
                [(bundle.name, bundle.pieces) for bundle in self.bundles],
                self._runs,
                _to_bytes(self._lengths),
                bytes(self._digests),
                _to_bytes(self._numbers),
                _to_bytes(self._places),
            )
        )

    def _piece(self, index: int, offset: int) -> Piece:
        number, place = self.place_at(index)
        return Piece(offset, self._lengths[index], self.digest_at(index), number, place)


class Grid:
    """Numbers of pieces by their offsets."""

    def __init__(self, runs: Sequence[tuple[int, int]], piece_bytes: int) -> None:
        self._piece_bytes = piece_bytes
        self._starts = [start for start, _ in runs]
        self._counts = [count for _, count in runs]
        self._before = [0]
        for count in self._counts:
            self._before.append(self._before[-1] + count)

    def find(self, offset: int) -> int | None:
        """Return the number of the piece at an offset, None where there is none."""
        run = bisect_right(self._starts, offset) - 1
        if run < 0:
            return None
        steps, rest = divmod(offset - self._starts[run], self._piece_bytes)
        return self._before[run] + steps if not rest and steps < self._counts[run] else None


def decode_manifest(data: bytes) -> Manifest:
    """Return the manifest of these bytes. Raises `ValueError` for what is none."""
    try:
        packed = _decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise ValueError("no manifest") from error
    if packed.version != VERSION:
        raise ValueError(f"a manifest of version {packed.version}")
    manifest = Manifest(packed.size)
    manifest.bundles = [StoredBundle(name, pieces) for name, pieces in packed.bundles]
    lengths, numbers = _from_bytes("I", packed.lengths), _from_bytes("I", packed.numbers)
    places = _from_bytes("H", packed.places)
    count = len(lengths)
    if not len(numbers) == len(places) == count == sum(count for _, count in packed.runs):
        raise ValueError("a manifest of other lengths")
    if len(packed.digests) != count * DIGEST_BYTES:
        raise ValueError("a manifest of other lengths")
    digests = packed.digests
    offsets = _offsets(packed.runs, lengths)
    for index, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        digest = digests[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
        manifest.add(Piece(offset, length, digest, numbers[index], places[index]))
    _check_places(manifest, numbers, places)
    return manifest


def _offsets(runs: Sequence[tuple[int, int]], lengths: "array[int]") -> Iterator[int]:
    """Yield the offset of each piece."""
    index = 0
    for start, count in runs:
        offset = start
        for length in lengths[index : index + count]:
            yield offset
            offset += length
        index += count


def _check_places(manifest: Manifest, numbers: "array[int]", places: "array[int]") -> None:
    """Check that every piece lies in a bundle that is there, and within the content."""
    if numbers and max(numbers) >= len(manifest.bundles):
        raise ValueError("a piece of no bundle")
    if places and max(places) >= MAX_BUNDLE_PIECES:
        raise ValueError("a place in no bundle")
    if manifest.end > manifest.size:
        raise ValueError("a piece behind the end")


def _to_bytes(numbers: "array[int]") -> bytes:
    """Return numbers little-endian, which both processors are that Atoll is built for."""
    return numbers.tobytes()


def _from_bytes(kind: str, data: bytes) -> "array[int]":
    numbers: array[int] = array(kind)
    if len(data) % numbers.itemsize:
        raise ValueError("a manifest of other lengths")
    numbers.frombytes(data)
    return numbers
