"""Marks of shells in terminal output, in any split and from anybody."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.marks import MAX_MARK_BYTES, MarkScanner, Signal

NONCE = "n0nce"


def one(data: bytes) -> Signal | None:
    """The only mark in `data`."""
    found = MarkScanner(NONCE).feed(data)
    assert len(found) <= 1
    return found[0] if found else None


@pytest.mark.parametrize(
    ("body", "verb", "text", "genuine"),
    [
        ("133;A", "A", "", False),
        ("133;A;aid=5", "A", "", False),
        ("133;D;1", "D", "1", False),
        ("633;D;1;n0nce", "D", "1", True),
        ("633;D;n0nce", "D", "", True),
        ("133;D;-1", "D", "", False),
        ("133;D;999999", "D", "", False),
        ("133;D;\u0661", "D", "", False),
        ("633;E;ls -l;n0nce", "E", "ls -l", True),
        ("633;E;a\\x3bb\\\\c\\x0ad;n0nce", "E", "a;b\\c\nd", True),
        ("633;P;Cwd=/a\\x3bb", "P", "/a;b", False),
        ("133;C;cmdline_url=ls%20-l", "C", "ls -l", False),
        ("133;C;k=i;cmdline=ls -l", "C", "ls -l", False),
        ("133;C", "C", "", False),
    ],
)
def test_mark_is_read_as_its_writer_meant(body: str, verb: str, text: str, genuine: bool) -> None:
    data = b"x\x1b]" + body.encode() + b"\x07y"
    signal = one(data)
    assert signal == Signal(verb, text, 1, len(data) - 1, genuine)
    assert one(b"x\x1b]" + body.encode() + b"\x1b\\y") is not None


@pytest.mark.parametrize(
    "data",
    [
        b"plain",
        b"\x1b]0;title\x07",
        b"\x1b]633;P;Prompt=x\x07",
        b"\x1b]133;Z\x07",
        b"\x1b]133;A\x18",
        b"\x1b]1337;A\x07",
        b"\x1b]133;AB\x07",
        b"\x1b]133;C;" + b"x" * (MAX_MARK_BYTES + 1) + b"\x07",
    ],
)
def test_what_is_no_mark_says_nothing(data: bytes) -> None:
    assert one(data) is None


def test_nobody_is_genuine_where_there_is_no_nonce() -> None:
    (signal,) = MarkScanner("").feed(b"\x1b]133;D;0;\x07")
    assert not signal.genuine


@given(st.lists(st.integers(1, 9), max_size=40))
def test_marks_are_the_same_in_any_split(sizes: list[int]) -> None:
    data = b"$ \x1b]633;A;n0nce\x07ls\x1b\x1b]0;t\x07\x1b]133;C\x1b\\a\r\nb\x1b]633;D;0;n0nce\x07"
    whole = MarkScanner(NONCE).feed(data)
    assert [signal.verb for signal in whole] == ["A", "C", "D"]
    scanner, found, at = MarkScanner(NONCE), list[Signal](), 0
    for size in (*sizes, len(data)):
        found += scanner.feed(data[at : at + size])
        at += size
    assert tuple(found) == whole


@given(st.lists(st.binary(max_size=12), max_size=20))
def test_marks_in_any_bytes_lie_in_the_stream_in_order(pieces: list[bytes]) -> None:
    scanner, end = MarkScanner(NONCE), 0
    for piece in (*pieces, b"\x1b]633;D;0;n0", b"nce\x07"):
        for signal in scanner.feed(piece):
            assert end <= signal.start < signal.end
            end = signal.end
    assert end == sum(len(piece) for piece in pieces) + 16


def test_mark_that_never_ends_is_let_go() -> None:
    scanner = MarkScanner(NONCE)
    assert scanner.feed(b"\x1b]133;C;" + b"x" * MAX_MARK_BYTES) == ()
    assert scanner.feed(b"x\x07") == ()
    assert [signal.verb for signal in scanner.feed(b"\x1b]133;A\x07")] == ["A"]
