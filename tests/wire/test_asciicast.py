"""Recordings as asciicast: written, read again, and other people's files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.asciicast import (
    BadCast,
    Event,
    Header,
    Term,
    read_event,
    read_header,
    spell,
    spell_header,
)


def test_header_is_written_as_version_three_and_read_again() -> None:
    header = Header(version=3, term=Term(cols=80, rows=24), timestamp=5, title="build")
    line = spell_header(header)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert json.loads(line)["term"] == {"cols": 80, "rows": 24, "type": "xterm-256color"}
    assert read_header(line) == header


def test_header_of_version_two_is_understood() -> None:
    line = b'{"version":2,"width":100,"height":30,"env":{"SHELL":"/bin/sh"}}'
    assert read_header(line) == Header(version=2, term=Term(cols=100, rows=30))


@pytest.mark.parametrize(
    "line",
    [
        b"", b"no json", b"[]", b"{}", b'{"version":1}',
        b'{"version":3}', b'{"version":3,"term":5}',
        b'{"version":3,"term":{"cols":1,"rows":1},"title":"\xff"}',
        b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"version":3}',
    ],
)  # fmt: skip
def test_header_of_anything_else_is_no_recording(line: bytes) -> None:
    with pytest.raises(BadCast):
        read_header(line)


@given(st.floats(0, 1e6), st.sampled_from("oimrxu"), st.text())
def test_event_is_one_line_and_read_again(seconds: float, code: str, text: str) -> None:
    line = spell(Event(seconds, code, text))
    assert line.count(b"\n") == 1
    again = read_event(line)
    assert again == Event(round(seconds, 6), code, text)


@pytest.mark.parametrize(
    "line",
    [
        b"", b" \n", b"# a comment", b"[1.0,\"o\",\"cut", b"[1.0,\"o\"]", b"[-1,\"o\",\"x\"]",
        b"[\"1\",\"o\",\"x\"]", b"[1,\"o\",5]", b"{}", b"[1,\"o\",\"\xff\"]", b"[" * 5000,
    ],
)  # fmt: skip
def test_line_that_is_no_event_is_passed_over(line: bytes) -> None:
    assert read_event(line) is None
