"""Events: the envelope of the one durable log.

Every transition and every act that matters is an event, of a kind in `domain.event_kind`. The store
appends and numbers events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from atoll.domain.errors import Invalid
from atoll.domain.ids import EventId, OrgId, PrincipalId
from atoll.domain.people.principal import Principal
from atoll.wire.words.events import MAX_POSITION

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SANDBOX_STREAMS = "sandbox:"
"""The prefix of the name of a sandbox's stream."""

DASHBOARD_STREAMS = "dashboard:"
"""The prefix of the name of a dashboard's stream."""

_MAX_DIGITS: Final = 20


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event before the log has numbered it. `owner` is the owner of its subject, who may read
    it."""

    id: EventId
    stream: str
    event_type: str
    at: datetime
    org_id: OrgId
    owner: PrincipalId
    actor: Principal
    reason: str | None
    payload: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in what a reader received: of the events after position `after` and up to `to`, some
    are no longer kept. The kept ones still come.

    Where `to` is less than `after`, the log was set back: it ends at `to` and has not what the
    reader received. What comes next follows `to`."""

    after: int
    to: int

    @property
    def set_back(self) -> bool:
        """True where the reader's position lies beyond the end of the log."""
        return self.to < self.after


@dataclass(frozen=True, slots=True)
class Event:
    """An event in its envelope. `seq` counts from 1 within its stream, `position` over the whole
    log; both grow in the order of commits. `actor_kind` is `adm`, `agt` or `atm`."""

    id: EventId
    position: int
    stream: str
    seq: int
    event_type: str
    event_version: int
    at: datetime
    org_id: OrgId
    actor_kind: str
    actor_id: str
    reason: str | None
    payload: Mapping[str, Json]


def read_position(text: str, rule: str, *, field: str) -> int:
    """Return the position in the log that a reader sent as text. Raises `Invalid` with the
    rule."""
    whole = text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS
    if not whole or int(text) > MAX_POSITION:
        raise Invalid(rule, field=field)
    return int(text)


def last_event_position(text: str) -> int | None:
    """Return the position in `Last-Event-ID` (WHATWG HTML §9.2), None where it is empty: such a
    reader received no id. Raises `Invalid`."""
    rule = "Last-Event-ID must be a whole number: the id of the last event received"
    return read_position(text, rule, field="last-event-id") if text else None


def envelope_of(event: Event) -> dict[str, Json]:
    """Return an event in its envelope as JSON, as receivers outside are sent it; `at` is RFC 3339
    in UTC with milliseconds."""
    at = event.at.astimezone(UTC).isoformat(timespec="milliseconds")
    return {
        "id": event.id,
        "position": event.position,
        "stream": event.stream,
        "seq": event.seq,
        "event_type": event.event_type,
        "event_version": event.event_version,
        "at": at.replace("+00:00", "Z"),
        "org_id": event.org_id,
        "actor": {"kind": event.actor_kind, "id": event.actor_id},
        "reason": event.reason,
        "payload": dict(event.payload),
    }


def sandbox_stream(sandbox_id: str) -> str:
    """Return the name of one sandbox's stream."""
    return f"{SANDBOX_STREAMS}{sandbox_id}"


def dashboard_stream(dashboard_id: str) -> str:
    """Return the name of one dashboard's stream."""
    return f"{DASHBOARD_STREAMS}{dashboard_id}"
