import struct

import pytest

from atoll.wire.contents.bundle import MAX_PIECE_BYTES, join_pieces, split_pieces


@pytest.mark.parametrize(
    "pieces", [[b"one"], [b"a", b"", b"bcd"], [bytes(MAX_PIECE_BYTES)], [b"x"] * 1024]
)
def test_pieces_come_back(pieces: list[bytes]) -> None:
    assert [bytes(piece) for piece in split_pieces(join_pieces(pieces))] == pieces


@pytest.mark.parametrize(
    "bundle",
    [
        b"",
        b"ATB1\x00",
        b"ATB2" + join_pieces([b"x"])[4:],
        b"ATB1" + struct.pack("<H", 0),
        join_pieces([b"x"] * 1025),
        join_pieces([bytes(MAX_PIECE_BYTES + 1)]),
        join_pieces([b"x"]) + b"y",
        join_pieces([b"xy"])[:-1],
        join_pieces([b"x", b"y"])[:8],
    ],
)
def test_other_bytes_are_no_bundle(bundle: bytes) -> None:
    with pytest.raises(ValueError):
        split_pieces(bundle)
