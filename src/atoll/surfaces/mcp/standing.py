"""The standing stream of a session (revisions with a handshake): changes as SSE.

A client that does not read stops the stream at the first bytes it does not take; nothing is queued
for it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import structlog
from starlette.types import Receive, Scope, Send

from atoll.domain.errors import AtollError
from atoll.services.tools.watches import Change

PING_SECONDS: Final = 15.0
"""The interval of comments, by which proxies see that the stream lives."""

AT_ONCE: Final = 8
"""The changes of one piece: a client that does not read holds no more than one of them beside what
its connection has."""

RETRY_MILLISECONDS: Final = 10_000
"""The time after which a client comes back. The official SDKs try twice, or once where the stream
broke off, and then never again: this is how long a restart may last."""

END_SECONDS: Final = 1.0
"""The longest wait for a client to take the end of its stream."""

_log = structlog.get_logger(__name__)

_HEADERS: Final = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


@dataclass(slots=True)
class ChangeStream:
    """An ASGI response, the standing stream of changes. It names URIs that change, says when the
    `lists` of tools does, and ends when `ended` returns."""

    changes: AsyncIterator[Change]
    lists: AsyncIterator[None]
    ended: Callable[[], Coroutine[Any, Any, None]]
    _sending: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send changes until the client leaves, the session has ended, or they cannot be read: the
        client comes back, and is answered why."""
        del scope
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        try:
            await self._run(receive, send)
        except* AtollError as errors:
            _log.info("standing_stream_broke_off", reason=str(errors.exceptions[0]))
        # Who reads nothing does not read the end either.
        with suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _run(self, receive: Receive, send: Send) -> None:
        async with asyncio.TaskGroup() as tasks:
            acts = (self._tell(send), self._tell_lists(send), self._ping(send))
            work = [tasks.create_task(one) for one in acts]
            ends = [tasks.create_task(one) for one in (self.ended(), _wait_for_disconnect(receive))]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for one in (*work, *ends):
                one.cancel()

    async def _tell(self, send: Send) -> None:
        async for change in self.changes:
            # Each piece is encoded when it is sent: who reads nothing holds one of them, not all.
            for first in range(0, len(change.uris), AT_ONCE):
                await self._send(send, _encode_events(change, first))

    async def _tell_lists(self, send: Send) -> None:
        async for _ in self.lists:
            await self._send(send, _LISTS_CHANGED)

    async def _ping(self, send: Send) -> None:
        await self._send(send, b"retry: %d\n\n" % RETRY_MILLISECONDS)
        while True:
            await self._send(send, b": ping\n\n")
            await asyncio.sleep(PING_SECONDS)

    async def _send(self, send: Send, body: bytes) -> None:
        async with self._sending:
            await send({"type": "http.response.body", "body": body, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    """Wait until the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _encode_events(change: Change, first: int) -> bytes:
    """Return the events of `AT_ONCE` URIs of a change, from the index `first` on."""
    uris = change.uris[first : first + AT_ONCE]
    # Only after the last of them may a client that was cut off go on from the position.
    last = len(change.uris) - first - 1
    return b"".join(
        _event(uri, change.position if index == last else None) for index, uri in enumerate(uris)
    )


def _event(uri: str, position: int | None) -> bytes:
    """Return the notification of a changed URI as one event (HTML, 9.2.6), with the position as its
    id where there is one."""
    told = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}}
    identity = b"" if position is None else b"id: %d\n" % position
    return b"%sevent: message\ndata: %s\n\n" % (identity, msgspec.json.encode(told))


_LISTS_CHANGED: Final = b"event: message\ndata: %s\n\n" % msgspec.json.encode(
    {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
)
"""The notification of changed lists. Without an id: a client goes on from its last URI."""
