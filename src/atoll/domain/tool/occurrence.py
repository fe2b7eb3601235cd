"""Occurrences: events in the words of the Events extension of MCP (SEP-3415).

Pure. A subscription names one kind of event, and may narrow it to a stream or to a URI. A cursor is
a position in the log, so that a reader who comes back receives each event once and in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event import Event, Json, envelope_of
from atoll.domain.event_kind import KINDS
from atoll.domain.event_kinds.kind import EventKind
from atoll.domain.event_schema import envelope_schema
from atoll.domain.tool.answer import spelled
from atoll.domain.tool.uri import covers, path_of, paths_of
from atoll.wire.words.events import MAX_POSITION

MAX_STREAM: Final = 300
"""The longest name of a stream in characters."""

LISTED: Final = 25
"""Kinds on a page of the list, which then has some 30 KiB."""

_MAX_DIGITS: Final = 16

INPUT_SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "stream": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_STREAM,
            "description": "Only events of this stream, such as `sandbox:<id>`.",
        },
        "uri": {
            "type": "string",
            "minLength": 1,
            "description": "Only events that change this URI, or one that a pattern stands for.",
        },
    },
    "additionalProperties": False,
}
"""The schema of the arguments of a subscription."""


FORBIDDEN: Final = -32024
"""The extension's code for what a caller may not, or no longer, do."""

REVOKED: Final[Mapping[str, Json]] = {
    "code": FORBIDDEN,
    "message": "Forbidden",
    "data": {"reason": "Access revoked"},
}
"""The error with which a subscription ends whose credential or permission is gone."""


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of a subscription, as a client sends them."""

    stream: str | None = None
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """The events that a subscription asks for: of one kind, and of one stream or path where it
    names them."""

    kind: str
    stream: str | None = None
    path: str | None = None

    def covers(self, event: Event) -> bool:
        """Report whether an event is one of these."""
        if event.event_type != self.kind or self.stream not in {None, event.stream}:
            return False
        return self.path is None or any(covers(self.path, one) for one in paths_of(event))


def wanted_of(kind: str, arguments: Mapping[str, Json], *, scheme: str) -> Wanted:
    """Return what a subscription asks for. Raises `NotFound` for a kind there is not, `Invalid` for
    arguments that do not fit."""
    if kind not in KINDS:
        raise NotFound(f"there is no event {kind[:60]!r}: list the events to see their names")
    try:
        read = msgspec.convert(arguments, _Arguments)
    except msgspec.ValidationError as error:
        raise Invalid(f"arguments of {kind}: {error}", field="arguments") from None
    if read.stream is not None and not 0 < len(read.stream) <= MAX_STREAM:
        raise Invalid(f"a stream has 1 to {MAX_STREAM} characters", field="arguments")
    return Wanted(kind, read.stream, None if read.uri is None else path_of(read.uri, scheme))


def position_of(cursor: str | None) -> int | None:
    """Return the position that a cursor stands for, None for none. Raises `Invalid`."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit()) or len(cursor) > _MAX_DIGITS:
        raise Invalid("the cursor is none that was given here", field="cursor")
    return min(int(cursor), MAX_POSITION)


def cursor_of(position: int) -> str:
    """Return the cursor of a position in the log."""
    return str(position)


def listed_kinds(cursor: str | None) -> tuple[Sequence[EventKind], str | None]:
    """Return a page of the kinds by name, and the cursor of the following page. Raises
    `Invalid`."""
    if cursor is not None and cursor not in KINDS:
        raise Invalid("the cursor is none that was given here", field="cursor")
    left = [kind for name, kind in sorted(KINDS.items()) if cursor is None or name > cursor]
    page = left[:LISTED]
    return page, page[-1].name if len(left) > LISTED else None


def descriptor_of(kind: EventKind, delivery: Sequence[str]) -> dict[str, Json]:
    """Return the description of a kind, with the schemas of its arguments and of its data."""
    return {
        "name": kind.name,
        "description": kind.text,
        "delivery": list(delivery),
        "inputSchema": dict(INPUT_SCHEMA),
        "payloadSchema": envelope_schema(kind),
    }


def occurrence_of(event: Event) -> dict[str, Json]:
    """Return an event as an occurrence, without a cursor. Its data is the envelope; characters of
    its texts that cannot be seen are spelled."""
    data = envelope_of(event)
    data["reason"], data["payload"] = _shown(data["reason"]), _shown(data["payload"])
    return {
        **{"eventId": event.id, "name": event.event_type},
        **{"timestamp": data["at"], "data": data},
    }


def _shown(value: Json) -> Json:
    match value:
        case str():
            return spelled(value)
        case list():
            return [_shown(one) for one in value]
        case dict():
            return {spelled(name): _shown(one) for name, one in value.items()}
        case _:
            return value
