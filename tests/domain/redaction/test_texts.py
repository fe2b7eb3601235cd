"""Which of several texts stands at a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.redaction.texts import Texts

SOME = st.lists(st.text("ab", min_size=1, max_size=6).map(str.encode), max_size=8)
DATA = st.text("ab", max_size=20).map(str.encode)


@given(SOME, DATA, st.integers(0, 20))
def test_texts_are_seen_as_by_comparing_each(texts: list[bytes], data: bytes, at: int) -> None:
    some, at = Texts(texts), min(at, len(data))
    whole = [len(each) for each in texts if data.startswith(each, at)]
    assert some.longest_at(data, at) == max(whole, default=0)
    tail = data[at:]
    assert some.is_cut_at(data, at) == any(
        len(each) > len(tail) and each.startswith(tail) for each in texts
    )
    assert list(some.beginning_with(tail)) == sorted({e for e in texts if e.startswith(tail)})


@pytest.mark.parametrize(
    ("data", "size", "cut"),
    [
        (b"abx", 2, False),
        (b"abcx", 2, False),
        (b"abcde", 5, False),
        (b"abcd", 2, True),
        (b"ab", 2, True),
        (b"xy", 0, False),
        (b"", 0, True),
    ],
)
def test_longest_text_and_the_cut_one_are_told_apart(data: bytes, size: int, cut: bool) -> None:
    texts = Texts([b"ab", b"abcde", b"abd"])
    assert (texts.longest_at(data, 0), texts.is_cut_at(data, 0)) == (size, cut)


def test_texts_nearest_to_the_data_share_most_with_them() -> None:
    texts = Texts([b"abcdefghijkl", b"abcdefghimno", b"abcdefghxyz"])
    assert texts.nearest(b"abcdefghimzz", 0) == [b"abcdefghimno", b"abcdefghxyz"]
    assert texts.nearest(b"a", 0) == [b"abcdefghijkl"]
    assert list(texts.beginning_with(b"abcdefghi")) == [b"abcdefghijkl", b"abcdefghimno"]
    assert list(texts.beginning_with(b"x")) == []
    assert Texts([]).longest_at(b"x", 0) == 0
