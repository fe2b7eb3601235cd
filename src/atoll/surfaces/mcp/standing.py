"""The standing stream of a session (revisions with a handshake): changed URIs as SSE.

A client that does not read stops the stream at the first bytes it does not take; nothing is queued
for it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import msgspec
from starlette.types import Receive, Scope, Send

from atoll.services.tools.watches import Change

PING_SECONDS: Final = 15.0
"""The interval of comments, by which proxies see that the stream lives."""

AT_ONCE: Final = 8
"""The changes of one piece: a client that does not read holds no more than one of them beside what
its connection has."""

_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


class Standing:
    """The response with a standing stream; ASGI."""

    def __init__(self, changes: AsyncIterator[Change]) -> None:
        self._changes = changes
        self._sending = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send changes until the client leaves."""
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        async with asyncio.TaskGroup() as tasks:
            work = (tasks.create_task(self._tell(send)), tasks.create_task(self._ping(send)))
            while (await receive())["type"] != "http.disconnect":
                pass
            for one in work:
                one.cancel()

    async def _tell(self, send: Send) -> None:
        async for change in self._changes:
            *rest, last = change.uris
            # Only after the last of them may a client that was cut off go on from the position.
            parts = [*(_event(uri, None) for uri in rest), _event(last, change.position)]
            for first in range(0, len(parts), AT_ONCE):
                await self._send(send, b"".join(parts[first : first + AT_ONCE]))

    async def _ping(self, send: Send) -> None:
        while True:
            await self._send(send, b": ping\n\n")
            await asyncio.sleep(PING_SECONDS)

    async def _send(self, send: Send, body: bytes) -> None:
        async with self._sending:
            await send({"type": "http.response.body", "body": body, "more_body": True})


def _event(uri: str, position: int | None) -> bytes:
    """Return the notification of a changed URI as one event (HTML, 9.2.6), with the position as its
    id where there is one."""
    params = {"uri": uri}
    told = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}
    identity = b"" if position is None else b"id: %d\n" % position
    return b"%sevent: message\ndata: %s\n\n" % (identity, msgspec.json.encode(told))
