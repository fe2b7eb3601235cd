"""A key goes out of a stream, and nothing but the key is held or changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.redaction.lexicon import NOTHING, Findings
from atoll.domain.redaction.literals import Literals
from atoll.domain.redaction.redactor import STAYS_FROM, Redactor

LETTERS = st.sampled_from(["a", "b", "*", "ab", "aab", "x"])
STREAMS = st.lists(st.lists(LETTERS, max_size=5).map("".join).map(str.encode), max_size=12)
KEYS = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=6).map("".join)


def stream(*keys: str) -> Redactor:
    return Redactor(Literals(keys))


def starred(data: bytes, *keys: str) -> bytes:
    """Every byte of every place where a key stands, found the slow way."""
    hidden = {
        place
        for key in keys
        for begin in range(len(data))
        if data.startswith(key.encode(), begin)
        for place in range(begin, begin + len(key.encode()))
    }
    return bytes(ord("*") if place in hidden else each for place, each in enumerate(data))


@given(keys=st.lists(KEYS, min_size=1, max_size=3), pieces=STREAMS)
def test_literals_in_a_cut_stream_are_masked_as_in_the_whole(
    keys: list[str], pieces: list[bytes]
) -> None:
    redactor, whole = stream(*keys), b"".join(pieces)
    out = b"".join(redactor.feed(piece) for piece in pieces) + redactor.flush()
    assert out == starred(whole, *keys) == Literals(keys).redact(whole)
    assert redactor.flush() == b""


@given(key=KEYS, pieces=STREAMS)
def test_literals_hold_only_a_beginning_of_the_key(key: str, pieces: list[bytes]) -> None:
    redactor = stream(key)
    shown = sum(len(redactor.feed(piece)) for piece in pieces)
    whole = b"".join(pieces)
    held = len(whole) - shown
    assert held < len(key)
    assert key.encode().startswith(whole[len(whole) - held :])


def test_literals_of_a_key_sent_letter_by_letter_show_no_letter() -> None:
    redactor = stream("sk-canary")
    assert b"".join(redactor.feed(bytes([each])) for each in b"sk-canary") == b"*" * 9


def test_literals_without_a_text_are_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        Literals(("sk-canary", ""))


@given(key=KEYS, pieces=STREAMS)
def test_literals_of_a_stream_that_pauses_lose_nothing_and_show_no_whole_key(
    key: str, pieces: list[bytes]
) -> None:
    redactor = stream(key)
    out = b"".join(redactor.feed(piece) + redactor.tick() for piece in pieces) + redactor.flush()
    whole = b"".join(pieces)
    masked = starred(whole, key)
    assert len(out) == len(whole)
    assert all(a in (b, ord("*")) for a, b in zip(masked, out, strict=True))


def test_literals_in_a_pause_show_only_short_beginnings_and_go_on_masking() -> None:
    key = b"sk-canary-0123456789"
    redactor = stream(key.decode())
    assert redactor.feed(b"x" + key[:5]) == b"x"
    assert (redactor.waiting, redactor.tick(), redactor.waiting) == (True, key[:5], False)
    assert redactor.tick() == b""
    assert redactor.feed(key[5:12]) == b""
    assert (redactor.waiting, redactor.tick()) == (False, b"")
    assert redactor.feed(key[12:] + b"y") == b"*" * (len(key) - 5) + b"y"
    assert STAYS_FROM <= 12


def test_literals_of_several_keys_take_each_out() -> None:
    keys = ("first-key", "second")
    redactor = stream(*keys)
    out = redactor.feed(b"a first-key b sec") + redactor.feed(b"ond c s") + redactor.tick()
    assert out == b"a ********* b ****** c s"
    assert not redactor.waiting
    assert redactor.feed(b"ec") == b""
    assert redactor.flush() == b"ec"
    assert Literals(keys).redact(b"a first-key") == b"a *********"


def test_literals_mask_byte_for_byte_whatever_the_letters() -> None:
    key = "pass-wörd\t字"
    assert stream(key).feed(f"[{key}]".encode()) == b"[" + b"*" * len(key.encode()) + b"]"


@given(st.lists(st.sampled_from(["aba", "ab", "sk-1", "b"]), min_size=1), st.text("absk-1x"))
def test_literals_touch_exactly_what_they_find_something_in(keys: list[str], text: str) -> None:
    literals = Literals(keys)
    found = literals.find(text.encode())
    assert literals.touches(text.encode()) == bool(found.spans or found.live)


def test_stream_without_keys_passes_at_once() -> None:
    assert stream().feed(b"a") == b"a"


def test_literals_name_where_they_stand_and_what_could_become_one() -> None:
    literals = Literals(("one", "two"))
    assert literals.find(b"a one") == Findings(((2, 5),), ())
    assert literals.find(b"a tw") == Findings((), ((2, 2),))
    assert literals.find(b"neither") == NOTHING
    assert literals.touches(b"a two")
    assert not literals.touches(b"neither")


def test_plain_bytes_hold_what_text_holds() -> None:
    literals = Literals(["key-of-mine"])
    assert literals.find_plain(b"\0key-of-mine\0key") == literals.find(b"\0key-of-mine\0key")
