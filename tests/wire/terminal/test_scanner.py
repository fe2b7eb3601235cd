import itertools
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.wire.terminal.scanner import MAX_SEQUENCE, Scanner
from tests.bounds import examples
from tests.wire.recordings import NAMES, output

RESET = b"\x1bc\x1b[?25h"
"""xterm.js leaves a hidden cursor hidden."""

PIECES = st.sampled_from(
    [
        b"\x1b",
        b"[",
        b"]",
        b"P",
        b"\\",
        b"\x07",
        b"\x18",
        b"?",
        b"1049",
        b"2004",
        b"25",
        b";",
        b"h",
        b"l",
        b"m",
        b"31",
        b"0",
        b"38;5;7",
        b"\x1b[m",
        b"\x1b[0m",
        b"\x1b[1;31m",
        b"\x1b7",
        b"\x1b8",
        b"\x1bc",
        b"\x0e",
        b"\x0f",
        b"\x1b(0",
        b"\x1b(B",
        b"\x1b=",
        b"\x1b]2;t\x07",
        b"\x1b]0;u\x1b\\",
        b"\x1b[6n",
        b"\x1b[c",
        b"\x1b]11;?\x07",
        b"\x1bP$qm\x1b\\",
        b"\x1b[>1u",
        b"\x1b[<u",
        b"\x1b[=5;2u",
        b"\x1b[2;20r",
        b"\x1b[3 q",
        b"\x1b[!p",
        b"text",
        "é".encode(),
        "🌊".encode(),
        "\x9d2;v\x9c".encode(),
        "\x9b1m".encode(),
        b"\xc2",
        b"\x1b\x00]2;w\x07",
        b"\xf0\x9f",
        b"\xff",
        b"\x00",
        b"\x9c",
        b"\x1b[?1049h",
        b"\x1b[?1049l",
        b"\x1b[4h",
        b"\x1b[>4;2m",
        b"\x1b[>4m",
        b"\x1b_x",
        b"x" * (MAX_SEQUENCE // 3),
        b"\x1b]2;",
        b"\x1b[1",
        b"\x1b(",
    ]
)
STREAMS = st.lists(PIECES, max_size=40).map(b"".join) | st.binary(max_size=200)


def fed(data: bytes, cuts: list[int]) -> tuple[Scanner, list[object]]:
    scanner = Scanner()
    queries: list[object] = []
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for low, high in itertools.pairwise(places):
        queries += scanner.feed(data[low:high])
    return scanner, queries


@settings(max_examples=examples(100))
@given(STREAMS, st.lists(st.integers(0, 20_000), max_size=12))
def test_scanner_fed_in_any_split_reaches_the_same_state(data: bytes, cuts: list[int]) -> None:
    whole, asked = fed(data, [])
    split, asked_split = fed(data, cuts)
    assert (split.cut(), split.end, split.unfinished) == (whole.cut(), whole.end, whole.unfinished)
    assert asked_split == asked


@settings(max_examples=examples(50))
@given(STREAMS)
def test_scanner_started_at_a_cut_with_its_preamble_reaches_the_same_state(data: bytes) -> None:
    first = Scanner()
    half = len(data) // 2
    first.feed(data[:half])
    cut = first.cut()
    first.feed(data[half:])
    second = Scanner()
    second.feed(cut.preamble() + data[cut.offset :])
    known, rebuilt = first.cut().modes, second.cut().modes
    # What DECSC saved, and the unused screen's keyboard, are not spelled in a preamble.
    if b"\x1b8" not in data and b"1049" not in data and b"1048" not in data:
        for name in ("private", "ansi", "region", "charsets", "shifted", "keypad", "title", "pen"):
            assert getattr(rebuilt, name) == getattr(known, name), name


TOKEN = re.compile(
    rb"\x1b\[[\x00-\x17\x1c-?]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|(?=\x1b))|\x1b[PX^_][^\x1b]*(?=\x1b)"
    rb"|\x1b[ -/]*[0-~]|[\x00-\x1a\x1c-\x7f]|[\xc2-\xdf].|[\xe0-\xef]..|[\xf0-\xf4]...",
    re.DOTALL,
)


def boundaries(data: bytes) -> set[int]:
    """Every offset between two whole sequences or characters, by a tokenizer of its own."""
    places, at = {0}, 0
    while at < len(data):
        found = TOKEN.match(data, at)
        assert found, data[at : at + 40]
        at = found.end()
        places.add(at)
    return places


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [1, 7, 999, 4096])
def test_scanner_on_a_recorded_agent_cuts_no_sequence_and_no_character(
    name: str, size: int
) -> None:
    data = output(name)
    places, scanner = boundaries(data), Scanner()
    for at in range(0, len(data), size):
        scanner.feed(data[at : at + size])
        assert scanner.settled in places
        assert scanner.end - scanner.settled < 1024
    assert scanner.settled == len(data)


@pytest.mark.parametrize("name", NAMES)
def test_scanner_on_a_recorded_agent_is_the_same_byte_by_byte(name: str) -> None:
    data = output(name)
    whole, asked = fed(data, [])
    slow, asked_slowly = fed(data, list(range(len(data))))
    assert slow.cut() == whole.cut()
    assert asked_slowly == asked


@pytest.mark.parametrize(
    ("data", "settled"),
    [
        (b"plain", 5),
        (b"abc\x1b", 3),
        (b"abc\x1b[", 3),
        (b"abc\x1b[38;5", 3),
        (b"abc\x1b[3\n8", 3),
        (b"abc\x1b[3\x18", 7),
        (b"abc\x1b[3\xc3", 6),
        (b"abc\x1b]0;ti", 3),
        (b"abc\x1b]0;ti\x07", 10),
        (b"abc\x1b]0;ti\x1b", 9),
        (b"abc\x1b]0;ti\x1b\\", 11),
        (b"abc\x1bPq\x07", 3),
        (b"abc\x1b(", 3),
        (b"abc\x1b(0", 6),
        ("abcé".encode()[:-1], 3),
        ("abc€".encode()[:-1], 3),
        ("abc🌊".encode()[:-1], 3),
        ("abc🌊".encode()[:-3], 3),
        ("abc🌊".encode(), 7),
        (b"\x80\x80\x80\x80", 4),
        (b"", 0),
    ],
)
def test_scanner_settles_before_what_is_half_said(data: bytes, settled: int) -> None:
    scanner = Scanner()
    scanner.feed(data)
    assert scanner.settled == settled


@pytest.mark.parametrize(
    ("data", "preamble"),
    [
        (b"", b"\x1bc"),
        (
            b"\x1b[?1049h\x1b[?25l\x1b[?1000;1006h",
            b"\x1bc\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h",
        ),
        (b"\x1b[?1049h\x1b[?1049l", b"\x1bc"),
        (b"\x1b[?47h\x1b[?1047l", b"\x1bc"),
        (b"\x1b[?7l\x1b[?7h\x1b[?9999h\x1b[?2026h", b"\x1bc"),
        (b"\x1b[4;20h\x1b[20l\x1b[99h", b"\x1bc\x1b[4h"),
        (b"\x1b]2;T\x1b\\\x1b]1;icon\x07", b"\x1bc\x1b]2;T\x07"),
        (b"\x1b]0;a\x00\x01b\xe2\x80\xae\x07", b"\x1bc\x1b]2;ab\x07"),
        (b"\x1b(0\x1b)A\x0e", b"\x1bc\x1b(0\x1b)A\x0e"),
        (b"\x1b(0\x0e\x0f\x1b(B", b"\x1bc"),
        (b"\x1b]2;\x0e\x07\x1bP\x0e\x1b\\\x1b_\x0e\x1b[1m", b"\x1bc\x1b[1m"),
        (b"\x1b[\x0e1m\x1b\x0e(0", b"\x1bc\x1b(0\x0e\x1b[1m"),
        (b"\x1b\x00]2\x01;T\x1b[?25l", b"\x1bc\x1b]2;T\x07\x1b[?25l"),
        ("\x9d02;Tü\x9c\x9b1m\x9b?25l".encode(), "\x1bc\x1b]2;Tü\x07\x1b[?25l\x1b[1m".encode()),
        (b"\x1b]2;T\x07\x1b]2;A\x18\x1b]2;B\x1a\x1b]-2;C\x07", b"\x1bc\x1b]2;T\x07"),
        (b"\x1b]2;T\x07\x1b]2\x1b]0;" + b"x" * MAX_SEQUENCE + b"\x07", b"\x1bc"),
        (b"\x1b[1?2004h\x1b(%5\x1b[1$r\x1b%@\x1bPq\x18\x1b\x01c\x1b\x007", b"\x1bc"),
        ("\x1b_é\x1b\x7f=\x1b%G\x1b[!\x00q\x1b[ \x00@".encode(), b"\x1bc\x1b="),
        (b"\x1b=", b"\x1bc\x1b="),
        (b"\x1b=\x1b>", b"\x1bc"),
        (b"\x1b[2;20r", b"\x1bc\x1b[2;20r"),
        (b"\x1b[2;20r\x1b[r", b"\x1bc"),
        (b"\x1b[2;20r\x1b[?5r", b"\x1bc\x1b[2;20r"),
        (b"\x1b[5 q", b"\x1bc\x1b[5 q"),
        (b"\x1b[555 q\x1b[x q\x1b[1$q", b"\x1bc"),
        (b"\x1b[>4;2m", b"\x1bc\x1b[>4;2m"),
        (b"\x1b[>4;2m\x1b[>4m\x1b[>1;1m", b"\x1bc"),
        (b"\x1b[>1u\x1b[>5u\x1b[<u", b"\x1bc\x1b[>1u"),
        (b"\x1b[=1u\x1b[=4;2u\x1b[=1;3u\x1b[5u", b"\x1bc\x1b[>4u"),
        (b"\x1b[>1u\x1b[?1049h\x1b[>3u", b"\x1bc\x1b[>1u\x1b[?1049h\x1b[>3u"),
        (b"\x1b[>1u\x1b[<9u", b"\x1bc"),
        (b"\x1b[1m\x1b7\x1b[0m\x1b8", b"\x1bc\x1b[1m"),
        (b"\x1b[1m\x1b[?1048h\x1b[m\x1b[?1048l", b"\x1bc\x1b[1m"),
        (b"\x1b[1m\x1b[?25l\x1b=\x1b[!p\x1b[4m", b"\x1bc\x1b[4m"),
        (b"\x1b]2;T\x07\x1b[1m\x1b[?2004hx\x1bc", b"\x1bc\x1b]2;T\x07"),
        (b"\x1b[31m\x1b[1;0mx", b"\x1bc"),
        (b"\x1b[3\n1m", b"\x1bc\x1b[31m"),
        (b"\x1b[1 1h\x1b[1t\x1b[1p", b"\x1bc"),
    ],
)
def test_scanner_preamble_spells_what_is_set(data: bytes, preamble: bytes) -> None:
    scanner = Scanner()
    scanner.feed(data)
    assert scanner.cut().preamble() == preamble.replace(b"\x1bc", RESET, 1)


@pytest.mark.parametrize(
    ("opening", "reopened", "closing"),
    [
        (b"\x1b]52;c;", b"\x1b]999;", b"\x07"),
        (b"\x1bP", b"\x1bP999", b"\x1b\\"),
        (b"\x1b_", b"\x1b_", b"\x18"),
        (b"\x1b^", b"\x1b_", "é".encode()),
        (b"\x1b[", b"\x1b[0<", b"m"),
        (b"\x1b ", b"\x1b ", b"F"),
    ],
)
def test_scanner_in_an_endless_sequence_keeps_no_bytes_and_reopens_it(
    opening: bytes, reopened: bytes, closing: bytes
) -> None:
    filler = b" " if opening == b"\x1b " else b"1"
    scanner = Scanner()
    scanner.feed(opening + filler * MAX_SEQUENCE)
    scanner.feed(filler * MAX_SEQUENCE)
    assert (scanner.unfinished, scanner.settled) == (0, scanner.end)
    assert scanner.cut().preamble() == RESET + reopened
    scanner.feed(closing + b"\x1b[1m")
    assert scanner.cut().preamble() == RESET + b"\x1b[1m"


def test_scanner_finds_questions_with_their_offsets() -> None:
    scanner = Scanner()
    assert scanner.feed(b"ab\x1b[") == ()
    found = scanner.feed(b"6n\x1b]11;?\x1b\\\x1b[?2026$p\x1bP+q544e\x1b\\\x1bPdata\x1b\\")
    assert [(q.start, q.end, q.kind, q.text) for q in found] == [
        (2, 6, b"[", b"6n"),
        (6, 12, b"]", b"11;?"),
        (14, 23, b"[", b"?2026$p"),
        (23, 31, b"P", b"+q544e"),
    ]


def test_scanner_of_an_overlong_sequence_in_one_piece_ignores_it() -> None:
    scanner = Scanner()
    scanner.feed(b"\x1b]2;" + b"t" * 5000 + b"\x07\x1b[" + b"1" * 5000 + b"h")
    assert scanner.cut().preamble() == RESET
