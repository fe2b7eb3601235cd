"""Terminal output as lines: what a person would have read, in any split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.plain import MAX_HELD_BYTES, MAX_LINE, Line, PlainLines


def read(data: bytes) -> list[str]:
    lines = PlainLines()
    return [line.text for line in (*lines.feed(data), *lines.finish())]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"one\r\ntwo", ["one", "two"]),
        (b"\x1b[31mred\x1b[0m \x1b]0;title\x07on\x1b(B\x1b=", ["red on"]),
        (b"10%\r20%\r100%", ["100%"]),
        (b"abcd\b\bX", ["abXd"]),
        (b"abcd\x1b[2DX\x1b[CY", ["abXdY"]),
        (b"a\tb", ["a       b"]),
        (b"abcd\x1b[2GX\x1b[1`Y", ["YXcd"]),
        (b"abcd\r\x1b[K", []),
        (b"abcd\b\b\x1b[1Kx", ["  xd"]),
        (b"abcd\x1b[2K", []),
        (b"abcd\x1b[3K", ["abcd"]),
        (b"abcd\r\x1b[2P", ["cd"]),
        (b"a\x1b[Hb\x1b[2Jc", ["a", "b", "c"]),
        (b"a\n\nb", ["a", "", "b"]),
        (b"trailing   \n", ["trailing"]),
        (b"\x00a\x7f\x07b", ["ab"]),
        (b"\xff\xc3\xa9", ["\ufffd\u00e9"]),
        (b"a\x1bPq#0\x1b\\b\x1b_x\x1b\\c", ["abc"]),
        (b"a\x1b[>4;1mb\x1b[?25lc\x1b[4hd", ["abcd"]),
        (b"a\x1b[99999999Cb", ["a b"]),
        (b"\x1b[50000Cx", [" " * 1000 + "x"]),
    ],
)
def test_line_reads_as_it_looked(data: bytes, text: list[str]) -> None:
    assert read(data) == text


def test_lines_know_where_they_began_and_what_drew_them() -> None:
    lines = PlainLines(100)
    found = lines.feed(b"one\n\x1b[1mtwo\n\x1b[?1049hfull\x1b[Hscreen\x1b[?1049lback\n\n")
    assert found == [
        Line(100, "one"),
        Line(108, "two"),
        Line(120, "full", alternate=True),
        Line(127, "screen", alternate=True),
        Line(141, "back"),
        Line(146, ""),
    ]
    assert lines.finish() == []
    assert PlainLines(alternate=True).feed(b"x\n") == [Line(0, "x", alternate=True)]


def test_very_long_line_is_broken_and_nothing_of_it_lost() -> None:
    words = "".join(chr(97 + number % 26) for number in range(3 * MAX_LINE + 5))
    found = read(words.encode())
    assert "".join(found) == words
    assert [len(line) for line in found] == [MAX_LINE] * 3 + [5]


@given(st.lists(st.integers(1, 7), max_size=60))
def test_lines_are_the_same_in_any_split(sizes: list[int]) -> None:
    data = "é\x1b[31m-\x1b]8;;http://x\x1b\\link\x1b]8;;\x07\r\x1b[2Cx\r\nß\x1b(0q\n$ ".encode()
    lines, found, at = PlainLines(), list[Line](), 0
    for size in (*sizes, len(data)):
        found += lines.feed(data[at : at + size])
        at += size
    whole = PlainLines()
    assert [*found, *lines.finish()] == [*whole.feed(data), *whole.finish()]


@given(st.lists(st.binary(max_size=30), max_size=20))
def test_lines_of_any_bytes_are_bounded_and_in_order(pieces: list[bytes]) -> None:
    lines, found = PlainLines(), list[Line]()
    for piece in pieces:
        found += lines.feed(piece)
    found += lines.finish()
    assert [line.offset for line in found] == sorted(line.offset for line in found)
    assert all(len(line.text) <= MAX_LINE and "\x1b" not in line.text for line in found)


def test_sequence_that_never_ends_is_let_go() -> None:
    lines = PlainLines()
    assert lines.feed(b"\x1b]0;" + b"x" * (MAX_HELD_BYTES - 4)) == []
    assert "x" in lines.feed(b"xx\n")[0].text
    assert lines.feed(b"yet\n")[0].text == "yet"
