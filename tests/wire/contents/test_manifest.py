import msgspec
import pytest

from atoll.wire.contents import manifest as module
from atoll.wire.contents.bundle import MAX_PIECE_BYTES
from atoll.wire.contents.manifest import Manifest, Piece, StoredBundle, decode_manifest

DIGEST = bytes(range(16))


def sample() -> Manifest:
    """Return a manifest of two runs, one piece and two."""
    manifest = Manifest(1000)
    manifest.add(Piece(0, 10, DIGEST, 0, 1))
    manifest.add(Piece(100, 10, DIGEST[::-1], 1, 0))
    manifest.add(Piece(110, 5, DIGEST, 0, 0))
    manifest.bundles = [StoredBundle("a/1", 2), StoredBundle("b/1", 3)]
    return manifest


def test_manifest_comes_back() -> None:
    before = sample()
    after = decode_manifest(before.encode())
    assert list(after.pieces()) == list(before.pieces())
    assert (after.size, after.bundles, len(after), after.end) == (1000, before.bundles, 3, 115)
    assert after.used() == [2, 1]
    assert (after.digest_at(1), after.place_at(1)) == (DIGEST[::-1], (1, 0))
    assert list(decode_manifest(Manifest(7).encode()).pieces()) == []


def test_grid_finds_pieces_by_their_offsets() -> None:
    manifest = Manifest(1000)
    for offset in (10, 20, 50, 60, 70):
        manifest.add(Piece(offset, 10, DIGEST, 0, 0))
    grid = manifest.grid(10)
    found = {offset: grid.find(offset) for offset in (0, 10, 15, 20, 30, 50, 70, 80, 10_000)}
    assert found == {
        0: None,
        10: 0,
        15: None,
        20: 1,
        30: None,
        50: 2,
        70: 4,
        80: None,
        10_000: None,
    }


@pytest.mark.parametrize(
    "piece",
    [
        Piece(114, 5, DIGEST, 0, 0),
        Piece(200, 0, DIGEST, 0, 0),
        Piece(200, MAX_PIECE_BYTES + 1, DIGEST, 0, 0),
    ],
)
def test_piece_out_of_order_or_bounds_is_refused(piece: Piece) -> None:
    with pytest.raises(ValueError):
        sample().add(piece)


def test_pieces_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PIECES", 3)
    with pytest.raises(ValueError, match="more than 3"):
        sample().add(Piece(500, 1, DIGEST, 0, 0))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (0, 2),
        (1, 114),
        (2, []),
        (3, [(0, 1)]),
        (3, [(0, 2), (5, 1)]),
        (4, bytes(12)),
        (4, bytes(11)),
        (5, bytes(47)),
        (6, bytes(8)),
        (6, b"\xff" * 12),
        (7, bytes(4)),
        (7, bytes(5)),
        (7, b"\xff" * 6),
        (1, "x"),
    ],
)
def test_manifest_that_does_not_fit_together_is_refused(field: int, value: object) -> None:
    packed = msgspec.msgpack.decode(sample().encode())
    packed[field] = value
    with pytest.raises(ValueError):
        decode_manifest(msgspec.msgpack.encode(packed))


def test_other_bytes_are_no_manifest() -> None:
    for data in (b"", b"\xff", sample().encode()[:-1]):
        with pytest.raises(ValueError):
            decode_manifest(data)
