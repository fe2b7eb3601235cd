"""Patterns, forms and the detector: what the redactor and the byte-exact exits stand on."""

import base64
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.redaction.detector import Detector
from atoll.domain.redaction.forms import LONG_VALUE, forms
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.patterns import Patterns, Sighting

KEY = "sk-canary-Zq81xLw03Mvb77TtNe"
LEXICON = Lexicon((KEY,))


def test_patterns_shorter_than_a_head_are_refused() -> None:
    with pytest.raises(ValueError, match="8 bytes"):
        Patterns([b"short"])


def test_patterns_none_find_nothing() -> None:
    nothing = Patterns([])
    assert not nothing
    assert nothing.sight(b"anything at all") == Sighting((), 15)


@given(
    st.lists(st.text("ab", min_size=8, max_size=12).map(str.encode), min_size=1, max_size=5),
    st.text("ab", max_size=60).map(str.encode),
)
def test_patterns_found_are_those_a_plain_search_finds(patterns: list[bytes], data: bytes) -> None:
    sighting = Patterns(patterns).sight(data)
    longest = (
        (at, max((len(each) for each in patterns if data.startswith(each, at)), default=0))
        for at in range(len(data))
    )
    assert set(sighting.spans) == {(at, at + size) for at, size in longest if size}
    live = [
        at
        for at in range(len(data))
        if any(len(each) > len(data) - at and each.startswith(data[at:]) for each in patterns)
    ]
    assert sighting.live_from == min(live, default=len(data))


def test_forms_of_a_long_value_are_few_and_those_of_a_short_one_none() -> None:
    long = "Zq81xLw03M" * (LONG_VALUE // 10 + 1)
    assert long.encode() in forms(long)
    assert base64.b64encode(long.encode()).rstrip(b"=") in forms(long)
    assert long[::-1].encode() not in forms(long)
    assert all(len(each) >= 8 for each in forms("ab"))


def test_lexicon_letter_with_an_accent_of_its_own_is_one_column() -> None:
    assert Lexicon().mask("ne\N{COMBINING ACUTE ACCENT}!".encode(), [(0, 5)]) == b"***"


def test_detector_secret_cut_anywhere_is_found_once_and_for_all() -> None:
    data = b"x" * 50 + KEY.encode() + b"y" * 50
    for size in (1, 7, 64, 1000):
        detector = Detector(LEXICON)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        told = [detector.feed(each) for each in pieces]
        assert told[-1] and detector.found
        assert told == sorted(told)


def test_detector_clean_bytes_and_no_secrets_find_nothing() -> None:
    assert not Detector(LEXICON).feed(b"nothing " * 1000)
    assert not Detector(Lexicon()).feed(KEY.encode())


def test_detector_holds_little_whatever_comes() -> None:
    detector = Detector(LEXICON)
    for piece in itertools.repeat(b"\x1b[0m" * 4096, 20):
        detector.feed(KEY[:12].encode() + piece)
    assert not detector.found


def test_detector_secret_coloured_behind_a_cut_sequence_is_found() -> None:
    coloured = b"".join(b"\x1b[31m%c" % letter for letter in KEY.encode())
    detector = Detector(LEXICON)
    assert not detector.feed(b"line\r\n\x1b[1;38")
    assert detector.feed(b";5;200m" + coloured)
    innocent = Detector(Lexicon(("5mABCDEFGH",)))
    assert not innocent.feed(b"\x1b[3")
    assert not innocent.feed(b"5mABCD\x1b[0mEFGH")


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_detector_of_binary_finds_what_stands_byte_for_byte(cut: int) -> None:
    data = b"\0\b" * 10 + KEY.encode() + b"\0"
    detector = Detector(LEXICON, binary=True)
    detector.feed(data[:cut])
    assert detector.feed(data[cut:])
    assert not Detector(LEXICON, binary=True).feed(b"\0\x1b[" * 1000)
