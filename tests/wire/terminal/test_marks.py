import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.terminal.marks import MAX_MARK_BYTES, MarkScanner, Signal

STREAM = (
    b"\x1b]633;P;Cwd=/a\\x3bb;N\x07\x1b]633;A;N\x07$ \x1b]633;B;N\x07ls\r\n"
    b"\x1b]633;E;echo a\\\\b\\x0ac;N\x1b\\\x1b]633;C;N\x07out\xc3\xa9\x1b]0;title\x07"
    b"\x1b]133;D;3\x07\x1b]633;D;0;N\x07"
)


def told(found: tuple[Signal, ...]) -> list[tuple[str, str, bool]]:
    return [(each.verb, each.text, each.genuine) for each in found]


def test_marks_of_both_kinds_are_read_with_their_places() -> None:
    found = MarkScanner("N").feed(STREAM)
    assert told(found) == [
        ("P", "/a;b", True),
        ("A", "", True),
        ("B", "", True),
        ("E", "echo a\\b\nc", True),
        ("C", "", True),
        ("D", "3", False),
        ("D", "0", True),
    ]
    for each in found:
        assert STREAM[each.start : each.end].startswith(b"\x1b]")
        assert STREAM[each.start : each.end].endswith((b"\x07", b"\x1b\\"))


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_marks_are_the_same_in_any_split(places: list[int]) -> None:
    scanner, at = MarkScanner("N"), 0
    found: list[Signal] = []
    for place in [*sorted(places), len(STREAM)]:
        found += scanner.feed(STREAM[at:place])
        at = place
    assert found == list(MarkScanner("N").feed(STREAM))


@pytest.mark.parametrize(
    "data",
    [
        b"\x1b]633;E;" + b"x" * (MAX_MARK_BYTES + 1) + b";N\x07",
        b"\x1b]633;P;Other=1\x07",
        b"\x1b]633;Z\x07",
        b"\x1b]6333;A\x07",
        b"\x1b]633;C\x18",
        b"\x1b]633;C\x1a",
        b"\x1b]633;\x1b]0;C;N\x07",
        b"\x1b]0;\xc2\xa9]633;C;N\x07",
        b"\x1bP]633;C;N\x07\x1b\\",
        b"\x1b_\x07]633;C;N\x07",
        b"\x1b]8;;http://h/\x07",
    ],
)
def test_what_is_no_mark_says_nothing(data: bytes) -> None:
    assert MarkScanner("N").feed(data) == ()


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_any_bytes_in_any_split_are_survived(data: bytes, places: list[int]) -> None:
    scanner, at = MarkScanner(""), 0
    for place in [*sorted(places), len(data)]:
        assert not any(each.genuine for each in scanner.feed(data[at:place]))
        at = max(at, place)


def test_exit_code_that_is_none_is_empty() -> None:
    assert told(MarkScanner("").feed(b"\x1b]133;D;-1;x\x07")) == [("D", "", False)]
    line = b"\x1b]133;C;cmdline_url=a%20b\x07"
    assert told(MarkScanner("").feed(line)) == [("C", "a b", False)]


def test_mark_cut_in_two_is_read_and_a_broken_beginning_is_dropped() -> None:
    scanner = MarkScanner("N")
    assert scanner.feed(b"plain text") == ()
    assert scanner.feed(b"\x1b]633;C;") == ()
    assert told(scanner.feed(b"N\x07")) == [("C", "", True)]
    assert scanner.feed(b"\x1b]633;C\x18 \x1b") == ()
    assert scanner.feed(b"[m") == ()


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"\x1b]633;D;7;N\x07", 12),
        (b"\x1b]633;D;7;N\x1b\\", 13),
        (b"\x1b]633;D;7;N\x1b[m", 11),
        (b"\x1b]633;D;7;N\x1b\x00\\", 11),
        (b"\x1b]0633;D;7;N\x07", 13),
        (b"\x1b\x00]633;D;7;N\x07", 13),
        (b"\x1b]6\x0133;D;7;N\x07", 13),
        ("\x9d633;D;7;N\x9c".encode(), 13),
        ("é\x1b]633;D;7;N\x9cx".encode(), 15),
        (b"\x1b]8;;\x1b]633;D;7;N\x07", 17),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 100])
def test_mark_is_read_in_every_spelling_that_terminals_take(
    data: bytes, end: int, size: int
) -> None:
    scanner = MarkScanner("N")
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    found = tuple(signal for piece in pieces for signal in scanner.feed(piece))
    assert told(found) == [("D", "7", True)]
    assert found[0].end == end


@pytest.mark.parametrize(
    "spelled", ["\x1b]633;D;0;M\x07", "\x9d633;D;0;\x9c", "\x1b\x00]633;D\x1b"]
)
def test_mark_without_the_nonce_is_genuine_in_no_spelling(spelled: str) -> None:
    found = MarkScanner("N").feed((spelled + "[m").encode())
    assert [each.genuine for each in found] == [False]
