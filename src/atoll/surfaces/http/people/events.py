"""Routes of the event log: pages of it, and a stream of it, as server-sent events or frames.

`GET /v1/events/stream` is server-sent events (WHATWG HTML §9.2): `id` is the position, so a client
that comes back with `Last-Event-ID` misses nothing and sees nothing twice.
"""

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Header, Query
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event import MAX_POSITION, Event, Gap, last_event_position
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import ActorKind
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.surfaces.http.body.queries import takes
from atoll.surfaces.http.body.streams import SSE, stream_of
from atoll.surfaces.http.people.feeds import asked_after, frame_feed, sse_feed
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems
from atoll.surfaces.http.terminals.relay import NO_SUCH, REFUSED, close

router = APIRouter(prefix="/v1/events", tags=["events"])

MAX_STREAM_NAME: Final = 300

Position = Annotated[int, Query(ge=0, le=MAX_POSITION)]
StreamName = Annotated[
    str | None,
    Query(
        description="`sandbox:<id>`, `profile:<id>`, `auth`, …",
        min_length=1,
        max_length=MAX_STREAM_NAME,
    ),
]


class ActorView(ResponseModel):
    """The actor of an event."""

    kind: ActorKind
    id: str


class EventView(ResponseModel):
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


class EventPage(ResponseModel):
    """A page, oldest first; `next` is the following `after`. `gap` is the requested part that is no
    longer kept, null when nothing is missing. Where its `to` is less than its `after`, the log was
    set back and ends at `to`."""

    events: list[EventView]
    next: int
    gap: Gap | None


@router.get("", response_model=EventPage, responses=problems())
@needs(Capability.EVENT_READ)
async def list_events(
    atoll: Atoll,
    caller: Caller,
    *,
    stream: StreamName = None,
    after: Position = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    latest: bool = False,
) -> Response:
    """Return events after a position, oldest first: the first of them, or with `latest` the
    last."""
    await atoll.events.check_stream(caller, stream)
    page = await atoll.events.list(caller, stream=stream, after=after, limit=limit, latest=latest)
    last = page[-1].position if page else after
    # The newest ones miss nothing of what lies before the first of them.
    start = page[0].position - 1 if latest and len(page) == limit else after
    gap = await atoll.events.gap(caller, stream=stream, after=start)
    if gap is not None and gap.set_back:
        last = gap.to
    return Json({"events": [event_view(event) for event in page], "next": last, "gap": gap})


@router.get(
    "/stream",
    response_model=None,
    responses={**stream_of(SSE, "One server-sent event for each event."), **problems()},
)
@needs(Capability.EVENT_READ)
async def follow_events(
    atoll: Atoll,
    caller: Caller,
    *,
    stream: StreamName = None,
    after: Position | None = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """Follow every event after `Last-Event-ID` (or `?after=`), then each as it comes.

    With neither it begins with the next event. A message `gap` without an id reports what is no
    longer kept; one with an id, that the log was set back and ends there.
    """
    await atoll.events.check_stream(caller, stream)
    start = last_event_position(last_event_id) if last_event_id else after
    if start is None:
        start = await atoll.events.last_position()
    events = atoll.events.follow(caller, after=start, stream=stream)
    return sse_feed((_message(event) async for event in events), start=start)


@router.websocket("/stream")
@needs(Capability.EVENT_READ)
@takes("after", "stream")
async def follow_events_by_socket(socket: WebSocket, atoll: Atoll, caller: Caller) -> None:
    """Follow events as text frames: an event in its envelope, or `{"gap": {"after", "to"}}`.

    Begins after `?after=` and follows `?stream=`, as the stream of server-sent events does.
    """
    try:
        after, stream = asked_after(socket), _asked_stream(socket)
        await atoll.events.check_stream(caller, stream)
    except Invalid as error:
        await close(socket, REFUSED, error.message)
        return
    except NotFound as error:
        await close(socket, NO_SUCH, error.message)
        return
    start = await atoll.events.last_position() if after is None else after
    await socket.accept()
    events = atoll.events.follow(caller, after=start, stream=stream)
    await frame_feed(socket, (_frame(event) async for event in events))


def event_view(event: Event) -> dict[str, Any]:
    """Return the members of `EventView`."""
    return EventView.of(event, actor={"kind": event.actor_kind, "id": event.actor_id})


def _message(event: Event | Gap) -> bytes:
    if isinstance(event, Gap):
        # Without an id: a client cut off now resumes where it was, and receives this again. Of a
        # log that was set back there is nothing else to receive.
        place = b"id: %d\n" % event.to if event.set_back else b""
        return b"%sevent: gap\ndata: %s\n\n" % (place, msgspec.json.encode(event))
    data = msgspec.json.encode(event_view(event))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.position, event.event_type.encode(), data)


def _frame(event: Event | Gap) -> bytes:
    return msgspec.json.encode({"gap": event} if isinstance(event, Gap) else event_view(event))


def _asked_stream(socket: WebSocket) -> str | None:
    stream = socket.query_params.get("stream")
    if stream is not None and not 1 <= len(stream) <= MAX_STREAM_NAME:
        raise Invalid("`stream` is the name of a stream", field="stream")
    return stream
