import random
from collections.abc import Iterator

import pytest

from atoll.domain.contents.cutting import (
    MAX_STREAM_PIECE_BYTES,
    MIN_PIECE_BYTES,
    RECORD_BYTES,
    StreamCutter,
)


def cut(data: bytes, step: int = 100_000) -> list[bytes]:
    """Return the pieces of a stream that comes in steps."""

    def pieces() -> Iterator[bytes]:
        cutter = StreamCutter()
        for at in range(0, len(data), step):
            yield from cutter.feed(data[at : at + step])
        if rest := cutter.finish():
            yield rest

    return list(pieces())


def stream(size: int, seed: int = 1) -> bytes:
    """Return random bytes."""
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("size", [0, 1, 511, 512, MIN_PIECE_BYTES, 3_000_000])
def test_pieces_are_the_stream_whatever_its_steps(size: int) -> None:
    data = stream(size)
    pieces = cut(data)
    assert b"".join(pieces) == data
    assert pieces == cut(data, 513) == cut(data, 3_000_001)


def test_pieces_have_bounds_and_a_mean() -> None:
    sizes = [len(piece) for piece in cut(stream(16_000_000))]
    assert all(MIN_PIECE_BYTES <= size <= MAX_STREAM_PIECE_BYTES for size in sizes[:-1])
    assert 40_000 < sum(sizes) / len(sizes) < 120_000


@pytest.mark.parametrize("record", [bytes(RECORD_BYTES), b"\xff" * RECORD_BYTES])
def test_stream_that_is_never_cut_by_itself_is_cut_at_the_bound(record: bytes) -> None:
    sizes = {len(piece) for piece in cut(record * 4096)}
    assert sizes == {MAX_STREAM_PIECE_BYTES}


def test_records_that_are_put_in_change_few_pieces() -> None:
    before = stream(8_000_000)
    at = 4096 * RECORD_BYTES
    after = before[:at] + stream(3 * RECORD_BYTES, 2) + before[at:]
    pieces = cut(after)
    assert len(set(pieces) - set(cut(before))) <= 3
