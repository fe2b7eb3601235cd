"""The event log for programs: pages of it, and a stream that resumes by itself."""

import asyncio
import json
from collections.abc import AsyncIterator

from atoll.client.aio.connection import Connection
from atoll.client.made.events import Event, EventPage, Gap
from atoll.client.transport import Call, Pairs, api_path, get
from atoll.domain.errors import Unavailable
from atoll.wire.http.server_sent import ServerSent, ServerSentLines

SILENCE_SECONDS = 20.0
"""The server sends a heartbeat much oftener; after this the line is taken for dead."""
PAUSE_SECONDS = 0.3
LONGEST_PAUSE_SECONDS = 5.0


class AsyncEvents:
    """The events that the caller may read."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(
        self, *, after: int = 0, stream: str | None = None, limit: int = 100, latest: bool = False
    ) -> EventPage:
        """Return a page of events after a position, or the last ones; `next` continues it."""
        place = ("latest", "true") if latest else ("after", str(after))
        query = (*_stream_query(stream), place, ("limit", str(limit)))
        return await self._connection.read(EventPage, get("events", query=query))

    async def list(
        self, *, after: int = 0, stream: str | None = None, limit: int = 100
    ) -> AsyncIterator[Event | Gap]:
        """Yield the events after a position until the log ends, `limit` a request. A `Gap` comes
        before those that follow events that are no longer kept."""
        while True:
            page = await self.page(after=after, stream=stream, limit=limit)
            if page.value.get("gap") is not None:
                yield page.gap
            for event in page.events:
                yield event
            if not page.events:
                return
            after = page.next

    async def follow(
        self, *, after: int | None = None, stream: str | None = None
    ) -> AsyncIterator[Event | Gap]:
        """Yield events as they happen, and first those after a position where one is given.

        It goes on over as many connections as it takes, each after the last event it yielded, so
        none is lost or repeated. Raises what a request raises but `Unavailable`.
        """
        lines, pause = ServerSentLines("" if after is None else str(after)), PAUSE_SECONDS
        while True:
            try:
                async for frame in self._stream_once(lines, _stream_query(stream)):
                    pause = PAUSE_SECONDS
                    event = Event.read(json.loads(frame.data))
                    yield Gap(event.value) if frame.kind == "gap" else event
            except Unavailable:
                pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            lines = ServerSentLines(lines.place)
            await asyncio.sleep(pause)

    async def _stream_once(self, lines: ServerSentLines, query: Pairs) -> AsyncIterator[ServerSent]:
        """Yield the events of one connection, from the last place on."""
        place = (("Last-Event-ID", lines.place),) if lines.place else ()
        headers = (("Accept", "text/event-stream"), *place)
        call = Call("GET", api_path("events", "stream"), query, headers, timeout=SILENCE_SECONDS)
        async with self._connection.open(call) as answer:
            async for line in answer.lines():
                if frame := lines.read(line):
                    yield frame


def _stream_query(stream: str | None) -> Pairs:
    return () if stream is None else (("stream", stream),)
