"""Lines out of pieces: bounded, whatever is sent."""

import pytest

from atoll.wire.mcp.lines import LineMark, LineReader


def taken(*pieces: bytes, longest: int = 10, ends: bool = False) -> list[bytes | LineMark]:
    reader, found = LineReader(longest), list[bytes | LineMark]()
    for piece in pieces:
        reader.feed(piece)
        while (line := reader.take()) is not None:
            found.append(line)
    if ends:
        reader.end()
        line = reader.take()
        found += [] if line is None else [line]
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_lines_are_the_same_in_any_pieces(size: int) -> None:
    text = b"one\r\n\n" + b"x" * 10 + b"\n" + b"y" * 11 + b"\nlast\n"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert taken(*pieces) == [b"one", b"", b"x" * 10, LineMark.OVERLONG, b"last"]


def test_long_line_is_left_out_while_it_comes() -> None:
    reader = LineReader(10)
    for _ in range(1000):
        reader.feed(b"z" * 1000)
        assert reader.take() is None
    reader.feed(b"\nafter\n")
    assert reader.take() is LineMark.OVERLONG
    assert reader.take() == b"after"


def test_last_line_needs_no_end() -> None:
    assert taken(b"a\nb", ends=True) == [b"a", b"b"]
    assert taken(b"a\n", ends=True) == [b"a"]
    assert taken(b"c" * 50, b"c", ends=True) == [LineMark.OVERLONG]
