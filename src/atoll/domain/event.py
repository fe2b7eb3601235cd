"""Events: the envelope of the one durable log.

Every transition and every act that matters is an event, of a kind in `domain.event_kind`. The store
appends and numbers events.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from atoll.domain.ids import EventId, OrgId, PrincipalId
from atoll.domain.people.principal import Principal

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SANDBOX_STREAMS = "sandbox:"
"""The prefix of the name of a sandbox's stream."""

DASHBOARD_STREAMS = "dashboard:"
"""The prefix of the name of a dashboard's stream."""


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
    are no longer kept. The kept ones still come."""

    after: int
    to: int


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


def sandbox_stream(sandbox_id: str) -> str:
    """Return the name of one sandbox's stream."""
    return f"{SANDBOX_STREAMS}{sandbox_id}"


def dashboard_stream(dashboard_id: str) -> str:
    """Return the name of one dashboard's stream."""
    return f"{DASHBOARD_STREAMS}{dashboard_id}"
