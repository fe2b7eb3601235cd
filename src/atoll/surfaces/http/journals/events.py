"""Routes of the event log: pages of it, and a stream of it, as server-sent events or frames.

`GET /v1/events/stream` is server-sent events (WHATWG HTML §9.2): `id` is the position, so a client
that comes back with `Last-Event-ID` misses nothing and sees nothing twice.
"""

import msgspec
from starlette.responses import Response
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event import Event, Gap, last_event_position
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.surfaces.http.people.feeds import asked_after, frame_feed, sse_feed
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.routes import Sockets
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.terminals.relay import NO_SUCH, REFUSED, close
from atoll.wire.api import events as api
from atoll.wire.api.events import Events
from atoll.wire.words.events import MAX_STREAM_NAME, ActorKind

operations = Operations()
sockets = Sockets()


@operations.serves(Events.list)
async def list_events(
    context: RequestContext,
    *,
    stream: str | None = None,
    after: int = 0,
    limit: int = 100,
    latest: bool = False,
) -> api.EventPage:
    events, caller = context.atoll.events, context.caller
    await events.check_stream(caller, stream)
    page = await events.list(caller, stream=stream, after=after, limit=limit, latest=latest)
    last = page[-1].position if page else after
    # The newest ones miss nothing of what lies before the first of them.
    start = page[0].position - 1 if latest and len(page) == limit else after
    gap = await events.gap(caller, stream=stream, after=start)
    if gap is not None and gap.set_back:
        last = gap.to
    return api.EventPage(
        events=[event_view(event) for event in page],
        next=last,
        gap=None if gap is None else answer_of(api.Gap, gap),
    )


@operations.streams(Events.follow)
async def follow_events(
    context: RequestContext,
    *,
    stream: str | None = None,
    after: int | None = None,
    last_event_id: str | None = None,
) -> Response:
    events = context.atoll.events
    await events.check_stream(context.caller, stream)
    start = last_event_position(last_event_id) if last_event_id else after
    if start is None:
        start = await events.last_position()
    followed = events.follow(context.caller, after=start, stream=stream)
    return sse_feed((_message(event) async for event in followed), start=start)


@sockets.serves("/v1/events/stream", Capability.EVENT_READ, takes=("after", "stream"))
async def follow_events_by_socket(socket: WebSocket, atoll: Application, caller: Principal) -> None:
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


def event_view(event: Event) -> api.EventView:
    """Return an event in its envelope."""
    actor = api.ActorView(kind=ActorKind(event.actor_kind), id=event.actor_id)
    return answer_of(api.EventView, event, actor=actor)


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
