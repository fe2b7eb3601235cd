"""The key goes out of a stream, and nothing but the key is held or changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.key_mask import MASK, KeyMask

LETTERS = st.sampled_from([b"a", b"b", b"*", b"ab", b"aab", b"x"])
STREAMS = st.lists(st.lists(LETTERS, max_size=5).map(b"".join), max_size=12)
KEYS = st.lists(st.sampled_from([b"a", b"b", b"*"]), min_size=1, max_size=6).map(b"".join)


@given(key=KEYS, pieces=STREAMS)
def test_mask_of_a_cut_stream_is_the_mask_of_the_whole(key: bytes, pieces: list[bytes]) -> None:
    mask = KeyMask(key)
    out = b"".join(mask.feed(piece) for piece in pieces) + mask.end()
    assert out == b"".join(pieces).replace(key, MASK)
    assert mask.end() == b""


@given(key=KEYS, pieces=STREAMS)
def test_mask_holds_only_a_beginning_of_the_key(key: bytes, pieces: list[bytes]) -> None:
    mask = KeyMask(key)
    for piece in pieces:
        mask.feed(piece)
    held = mask.end()
    assert len(held) < len(key)
    assert key.startswith(held)


def test_mask_of_a_key_sent_letter_by_letter_shows_no_letter() -> None:
    mask = KeyMask(b"sk-canary")
    assert b"".join(mask.feed(bytes([each])) for each in b"sk-canary") == MASK


def test_mask_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        KeyMask(b"")
