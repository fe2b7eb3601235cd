import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal.plain import MAX_LINE, Line, PlainLines
from tests.wire.recordings import NAMES, output


def lines_of(data: bytes, **more: bool) -> list[str]:
    plain = PlainLines(**more)
    return [line.text for line in (*plain.feed(data), *plain.finish())]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"one\r\ntwo", ["one", "two"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"\x1b[1;31mred\x1b[0m text\x1b]0;title\x07!", ["red text!"]),
        (b"50%\r100%\r\n", ["100%"]),
        (b"helo\blo\x1b[K w\x1b[2Cx", ["hello w  x"]),
        (b"abc\x1b[2Dx\x1b[P", ["ax"]),
        (b"left\x1b[5;1Hnext\x1b[2J", ["left", "next"]),
        (b"a\tb", ["a       b"]),
        (b"a\x07b\x0ec", ["abc"]),
        (b"\x1b[10Gx", ["         x"]),
        ("grün 世界\r\n".encode(), ["grün 世界"]),
        (b"\xff\xfe", ["\ufffd\ufffd"]),
        ("a\x9b31mb\x9d0;title\x9cc".encode(), ["abc"]),
        (b"a\x1b\x00[31mb\x1b]0;title\x18c\x1b]0;title\x1b[md\x1b_x\x1ae", ["abcde"]),
        (b"abc\x1b[\x081Dx\x1b[3\n1my", ["axc", "y"]),
        ("a\x1b[3é\x1b_xü\x1b[1?2hb\x1b[2 @\x1b(0c".encode(), ["aéübc"]),
        (b"a\x1b[\x01K\x1b[\x00?1049hb", ["a", "b"]),
    ],
)
def test_output_becomes_the_lines_a_person_saw(data: bytes, lines: list[str]) -> None:
    assert lines_of(data) == lines


def test_lines_of_full_screen_programs_say_so_and_offsets_are_those_of_the_output() -> None:
    data = b"one\r\n\x1b[?1049hvim\x1b[?1049ltwo\r\n"
    plain = PlainLines(100)
    assert [*plain.feed(data), *plain.finish()] == [
        Line(100, "one"),
        Line(113, "vim", alternate=True),
        Line(124, "two"),
    ]


def test_line_without_an_end_is_broken() -> None:
    assert [len(line) for line in lines_of(b"x" * (2 * MAX_LINE + 5))] == [MAX_LINE, MAX_LINE, 5]


SPELLED = "ab\x9d0;t\x9cc\x9b2Dx\x1b\x00[m\r\n\x1b]0;t\x1b\\é\x1b[\x081m\x1b[3\x18d\x9b".encode()


@given(st.lists(st.integers(0, len(SPELLED)), max_size=9))
def test_odd_spellings_read_the_same_in_any_split(places: list[int]) -> None:
    lines, found, at = PlainLines(), [], 0
    for place in [*sorted(places), len(SPELLED)]:
        found += lines.feed(SPELLED[at:place])
        at = place
    assert [*found, *lines.finish()] == [Line(0, "axc"), Line(28, "d")]


@pytest.mark.parametrize("name", NAMES)
def test_recorded_agents_read_the_same_in_any_split(name: str) -> None:
    data = output(name)
    whole, pieces = PlainLines(), PlainLines()
    expected = [*whole.feed(data), *whole.finish()]
    found = [line for at in range(0, len(data), 97) for line in pieces.feed(data[at : at + 97])]
    assert [line.text for line in (*found, *pieces.finish())] == [line.text for line in expected]
    assert not any("\x1b" in line.text for line in expected)


@given(st.binary(max_size=400))
def test_any_bytes_become_lines_without_control_characters(data: bytes) -> None:
    for line in lines_of(data):
        assert not any(ord(letter) < 32 for letter in line)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"abcd\b\b\x1b[Kx", "abx"),
        (b"abcd\b\b\x1b[1Kx", "  xd"),
        (b"abcd\x1b[2Kx", "    x"),
        (b"abcd\x1b[3Kx", "abcdx"),
        (b"abcd\r\x1b[2P", "cd"),
    ],
)
def test_line_that_was_partly_erased_reads_as_it_looked(data: bytes, line: str) -> None:
    lines = PlainLines()
    assert [one.text for one in (*lines.feed(data), *lines.finish())] == [line]
