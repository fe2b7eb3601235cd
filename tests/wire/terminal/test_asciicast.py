import pytest

from atoll.wire.terminal.asciicast import (
    BadCast,
    Event,
    Header,
    Term,
    read_event,
    read_header,
    spell,
    spell_header,
)


def test_header_and_events_read_back_as_they_were_spelt() -> None:
    header = Header(version=3, term=Term(cols=90, rows=30), timestamp=7, title="é\x1b")
    assert read_header(spell_header(header)) == header
    event = Event(0.25, "o", "a\x1b[m\r\n世")
    assert read_event(spell(event)) == event
    assert b"\n" not in spell(event)[:-1]


def test_version_two_can_be_read() -> None:
    header = read_header(b'{"version": 2, "width": 100, "height": 40, "title": null}\n')
    assert (header.version, header.term.cols, header.term.rows) == (2, 100, 40)


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b"{}", b'{"version": 1}', b'{"version": 3}', b"\xff{}"]
)
def test_what_is_no_recording_is_refused(line: bytes) -> None:
    with pytest.raises(BadCast):
        read_header(line)


@pytest.mark.parametrize(
    "line",
    [b"# a comment", b"\n", b'[0.1, "o", "cut', b'[-1, "o", ""]', b'["a", "o", ""]', b"[" * 9000],
)
def test_lines_that_are_no_event_are_passed_over(line: bytes) -> None:
    assert read_event(line) is None
