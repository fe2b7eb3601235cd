"""The event log: pages of it, and a stream of it."""

from typing import Annotated, Any

from msgspec import Meta

from atoll.wire.api.annotations import Header
from atoll.wire.api.fields import PageLimit, Position
from atoll.wire.api.operation import Answer, Area, Stream, operation
from atoll.wire.http.media_types import SSE
from atoll.wire.words.events import MAX_STREAM_NAME, ActorKind

StreamName = Annotated[
    str,
    Meta(
        description="`sandbox:<id>`, `profile:<id>`, `auth`, …",
        min_length=1,
        max_length=MAX_STREAM_NAME,
    ),
]

EventId = Annotated[str, Meta(max_length=20)]
"""The id of a server-sent event: a position."""


class Gap(Answer):
    """A gap in what a reader received: of the events after position `after` and up to `to`, some
    are no longer kept. The kept ones still come.

    Where `to` is less than `after`, the log was set back: it ends at `to` and has not what the
    reader received. What comes next follows `to`."""

    after: int
    to: int


class ActorView(Answer):
    """The actor of an event."""

    kind: ActorKind
    id: str


class EventView(Answer):
    """An event in its envelope."""

    id: str
    position: int
    stream: str
    seq: int
    event_type: str
    event_version: int
    at: str
    org_id: str
    actor: ActorView
    reason: str | None
    payload: dict[str, Any]


class EventPage(Answer):
    """A page, oldest first; `next` is the following `after`. `gap` is the requested part that is no
    longer kept, null when nothing is missing. Where its `to` is less than its `after`, the log was
    set back and ends at `to`."""

    events: list[EventView]
    next: int
    gap: Gap | None


class Events(Area):
    """The event log."""

    tag = "events"
    needs = "event.read"

    @operation("GET /v1/events", name="list_events")
    def list(
        self,
        *,
        stream: StreamName | None = None,
        after: Position = 0,
        limit: PageLimit = 100,
        latest: bool = False,
    ) -> EventPage:
        """Return events after a position, oldest first: the first of them, or with `latest` the
        last."""

    @operation(
        "GET /v1/events/stream",
        name="follow_events",
        stream=SSE,
        about="One server-sent event for each event.",
    )
    def follow(
        self,
        *,
        stream: StreamName | None = None,
        after: Position | None = None,
        last_event_id: Annotated[EventId | None, Header("last-event-id")] = None,
    ) -> Stream:
        """Follow every event after `Last-Event-ID` (or `?after=`), then each as it comes.

        With neither it begins with the next event. A message `gap` without an id reports what is no
        longer kept; one with an id, that the log was set back and ends there.
        """
