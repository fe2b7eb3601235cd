"""The parser of terminal output: what it reads, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal import parser as vtparser
from atoll.wire.terminal.parser import Control, Function, Parser, Piece, String, Text

SGR = Function(b"[", b"31", b"", b"m")

READ: dict[bytes, list[Piece]] = {
    b"plain\r\ntext\x08": [Text(b"plain\r\ntext\x08")],
    b"\x00a\x07": [Control(b"\x00"), Text(b"a"), Control(b"\x07")],
    b"\x1b[31mx": [SGR, Text(b"x")],
    b"\xc2\x9b31mx": [SGR, Text(b"x")],
    b"\x1b[3\n1mx": [Text(b"\n"), SGR, Text(b"x")],
    b"\x1b\x01[31\x7fm": [Control(b"\x01"), Control(b"\x7f"), SGR],
    b"\x1b[3\x181m": [Text(b"1m")],
    b"\x1b[3\x1b[31m": [SGR],
    "\x1b[3é".encode(): [Text("é".encode())],
    b"\x1b[1 q\x1b[?25l": [
        Function(b"[", b"1", b" ", b"q"),
        Function(b"[", b"?25", b"", b"l"),
    ],
    b"\x1b[1?2h!": [Text(b"!")],
    b"\x1b7\x1b(0\x1b\n8": [
        Function(b"", b"", b"", b"7"),
        Function(b"", b"", b"(", b"0"),
        Text(b"\n"),
        Function(b"", b"", b"", b"8"),
    ],
    b"\x1b]0;t\x07x": [String(b"]", b"0;t"), Text(b"x")],
    b"\x1b]0;t\x1b\\": [String(b"]", b"0;t"), Function(b"", b"", b"", b"\\")],
    "\x9d0;t\x9c".encode(): [String(b"]", b"0;t"), Function(b"", b"", b"", b"\\")],
    b"\x1b]5\x012;c\x1b[31m": [String(b"]", b"52;c"), SGR],
    b"\x1b]0;t\x18x": [Text(b"x")],
    "\x1b]0;ü\x07".encode(): [String(b"]", "0;ü".encode())],
    b"\x1b]0;\xff\x07": [String(b"]", "0;\ufffd".encode())],
    b"\x1b]0;\xd3\x03\xa7\x07": [String(b"]", "0;\ufffd\ufffd".encode())],
    b"\x1bP0;1|17/41\x1b\\": [String(b"P", b"0;1|17/41"), Function(b"", b"", b"", b"\\")],
    "\x1bPqé\x1b[31m".encode(): [String(b"P", "qé".encode()), SGR],
    "\x1bP1é".encode(): [Text("é".encode())],
    b"\x1bP1\x1b[31m": [SGR],
    b"\x1b_Gt=f;x\x1b[31m": [SGR],
    "\x1b^privaté!".encode(): [Text("é!".encode())],
    b"\x1bXs\x1ax": [Text(b"x")],
    b"a\xffb\xc2": [Text("a\ufffdb".encode())],
}


def plain(pieces: list[Piece]) -> list[Piece]:
    """The same with neighbouring texts as one."""
    found: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and found and isinstance(found[-1], Text):
            found[-1] = Text(found[-1].data + piece.data)
        else:
            found.append(piece)
    return found


@pytest.mark.parametrize("data", READ)
def test_parser_reads_what_terminals_read(data: bytes) -> None:
    assert plain(Parser().feed(data)) == READ[data]
    parser = Parser()
    assert plain([piece for at in data for piece in parser.feed(bytes([at]))]) == READ[data]


NOISE = st.lists(
    st.sampled_from([*READ, *(bytes([each]) for each in b"\x1b\x9b\xc2\x07\x18[]P_;\n\x00m")]),
    max_size=12,
).map(b"".join)


@given(NOISE, st.lists(st.integers(0, 200), max_size=8))
def test_parser_fed_in_any_pieces_reads_the_same(data: bytes, places: list[int]) -> None:
    parser, found, begin = Parser(), [], 0
    for place in (*sorted(places), len(data)):
        found += parser.feed(data[begin:place])
        begin = max(begin, place)
    assert plain(found) == plain(Parser().feed(data))


@pytest.mark.parametrize("begin", [b"\x1b]0;", b"\x1b[", b"\x1bP1q"])
def test_parser_passes_over_a_sequence_without_end_and_keeps_little(
    monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(vtparser, "MAX_BODY_BYTES", 100)
    parser = Parser()
    assert parser.feed(begin + b"1" * 90) == []
    for _ in range(5):
        assert parser.feed(b"1" * 90) == []
        assert parser.feed(b"1") == []
    assert parser.feed(b"m\x1b\\\x1b[31mx")[-2:] == [SGR, Text(b"x")]
    assert not any(isinstance(each, String) for each in Parser().feed(begin + b"1" * 200 + b"\x07"))


def test_device_splits_a_string_at_its_final() -> None:
    assert vtparser.device(b"0;1|17/41") == (b"0;1", b"|", b"17/41")
    assert vtparser.device(b"$qm") == (b"", b"$q", b"m")
    assert vtparser.device(b"12") is None


def test_seven_bit_keeps_every_place() -> None:
    data = "é\x9b31m©\x85字\x9c".encode()
    assert vtparser.seven_bit(data) == "é\x1b[31m©\x1bE字\x1b\\".encode()
    assert vtparser.seven_bit(b"plain") == b"plain"


def test_parser_is_between_only_where_something_new_begins() -> None:
    parser = Parser()
    assert parser.between
    parser.feed(b"\x1b[3")
    assert not parser.between
    parser.feed(b"1m\xc3")
    assert not parser.between
    parser.feed(b"\xa9")
    assert parser.between
