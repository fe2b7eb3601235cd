"""Recordings as text: asciicast v3, a header line and one line for each event.

Source: docs.asciinema.org/manual/asciicast/v3. Times are seconds since the event before. Besides
`o` output, `i` input, `m` marker, `r` resize and `x` exit there is one code of our own, `u`: who
typed the `i` events that follow, as JSON in the text. Other players skip codes they do not know.
"""

from dataclasses import dataclass
from typing import Any

import msgspec

from atoll.wire.http.unreadable import UNREADABLE

OUTPUT, INPUT, MARKER, RESIZE, EXIT, USER = "o", "i", "m", "r", "x", "u"
MAX_LINE_BYTES = 1024 * 1024


class BadCast(ValueError):
    """A recording that cannot be read; the text gives the reason."""


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """The terminal at the start."""

    cols: int
    rows: int
    type: str = "xterm-256color"


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line. `timestamp` is its start, in seconds since 1970."""

    version: int
    term: Term
    timestamp: int = 0
    title: str = ""


class _OldHeader(msgspec.Struct):
    version: int
    width: int = 80
    height: int = 24
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event, `seconds` after the one before it."""

    seconds: float
    code: str
    text: str


def spell_header(header: Header) -> bytes:
    """Return the first line."""
    return msgspec.json.encode(header) + b"\n"


def spell(event: Event) -> bytes:
    """Return a line of one event."""
    return msgspec.json.encode((round(event.seconds, 6), event.code, event.text)) + b"\n"


def read_header(line: bytes) -> Header:
    """Read the first line, of this version or of v2. Raises `BadCast`."""
    try:
        found = msgspec.json.decode(line, type=_OldHeader)
        if found.version == 2:
            term = Term(cols=found.width, rows=found.height)
            return Header(version=2, term=term, title=found.title or "")
        if found.version == 3:
            return msgspec.json.decode(line, type=Header)
    except UNREADABLE as error:
        raise BadCast(f"this is no asciicast: {error}") from error
    raise BadCast(f"asciicast versions 2 and 3 can be played, not {found.version}")


def read_event(line: bytes) -> Event | None:
    """Read a further line; None for a comment, an empty line, or one that was cut off."""
    if not line.strip() or line.startswith(b"#"):
        return None
    try:
        found: Any = msgspec.json.decode(line)
    except UNREADABLE:
        return None
    match found:
        case [int() | float() as seconds, str() as code, str() as text] if seconds >= 0:
            return Event(float(seconds), code, text)
        case _:
            return None
