"""The key goes out of a stream, and nothing but the key is held or changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.key_mask import SHORT_BYTES, KeyMask, KeyMasks, masked

LETTERS = st.sampled_from([b"a", b"b", b"*", b"ab", b"aab", b"x"])
STREAMS = st.lists(st.lists(LETTERS, max_size=5).map(b"".join), max_size=12)
KEYS = st.lists(st.sampled_from([b"a", b"b", b"*"]), min_size=1, max_size=6).map(b"".join)


@given(key=KEYS, pieces=STREAMS)
def test_mask_of_a_cut_stream_is_the_mask_of_the_whole(key: bytes, pieces: list[bytes]) -> None:
    mask = KeyMask(key)
    out = b"".join(mask.feed(piece) for piece in pieces) + mask.end()
    assert out == b"".join(pieces).replace(key, b"*" * len(key))
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
    assert b"".join(mask.feed(bytes([each])) for each in b"sk-canary") == b"*" * 9


def test_mask_without_a_key_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        KeyMask(b"")


@given(key=KEYS, pieces=STREAMS)
def test_mask_that_released_in_pauses_loses_nothing_and_shows_no_whole_key(
    key: bytes, pieces: list[bytes]
) -> None:
    mask = KeyMask(key)
    out = b"".join(mask.feed(piece) + mask.release() for piece in pieces) + mask.end()
    whole = b"".join(pieces)
    assert len(out) == len(whole)
    masked_whole = whole.replace(key, b"*" * len(key))
    assert all(a in (b, ord("*")) for a, b in zip(masked_whole, out, strict=True))


def test_mask_releases_only_short_beginnings_and_goes_on_masking() -> None:
    key = b"sk-canary-0123456789"
    mask = KeyMask(key)
    assert mask.feed(b"x" + key[:5]) == b"x"
    assert (mask.held, mask.release(), mask.held) == (5, key[:5], 0)
    assert mask.release() == b""
    assert mask.feed(key[5:12]) == b""
    assert mask.release() == b""
    assert mask.feed(key[12:] + b"y") == b"*" * (len(key) - 5) + b"y"
    assert SHORT_BYTES <= 12


def test_masks_of_several_keys_take_each_out() -> None:
    masks = KeyMasks(("first-key", "second"))
    out = masks.feed(b"a first-key b sec") + masks.feed(b"ond c s") + masks.release()
    assert out == b"a ********* b ****** c s"
    assert masks.held == 0
    assert masks.feed(b"ec") == b""
    assert masks.end() == b"ec"
    assert masked(b"a first-key", ("first-key",)) == b"a *********"
