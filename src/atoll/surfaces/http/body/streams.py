"""Streams to a client: bytes from a runtime, or from this server, at the client's own pace.

A client that leaves cancels the work at once. A source that fails leaves the response visibly
unfinished (no last chunk), never a clean end.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import structlog
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atoll.domain.errors import AtollError
from atoll.ports.runtime import RuntimeStream
from atoll.wire.http.media_types import SSE

_EVENT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("id", "event", "data")},
}
# What may pass from a runtime's answer; the rest is said here or not at all.
_PASSED: Final = frozenset({"content-length", "content-range", "accept-ranges", "etag"})

Write = Callable[[bytes], Awaitable[None]]
"""A function that sends a piece; it waits while the client is slow."""

Source = Callable[[Write], Awaitable[None]]
"""A function that writes a whole stream."""

_log = structlog.get_logger(__name__)


def stream_of(media_type: str, text: str) -> dict[int | str, dict[str, Any]]:
    """Return the `responses=` of a route that answers with a stream; of events, the schema is that
    of one, of a kind of JSON an object."""
    schema: Mapping[str, Any] = {"type": "string", "format": "binary"}
    if media_type == SSE:
        schema = _EVENT
    elif media_type.endswith("+json"):
        schema = {"type": "object"}
    return {200: {"description": text, "content": {media_type: {"schema": schema}}}}


class ForwardedStream(Response):
    """A runtime's stream as the response.

    It is opened when the response is sent, so an error of opening it is still a problem document.
    """

    def __init__(
        self,
        opened: AbstractAsyncContextManager[RuntimeStream],
        *,
        media_type: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(media_type=media_type, headers=dict(headers or {}))
        del self.headers["content-length"]
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; ASGI."""
        del scope
        async with self._opened as stream:
            passed = [
                (name.encode("latin-1"), value.encode("latin-1"))
                for name, value in stream.headers
                if name in _PASSED
            ]
            head = {"status": stream.status, "headers": [*self.raw_headers, *passed]}
            await send({"type": "http.response.start", **head})
            await while_connected(
                receive, lambda: _to_the_end(lambda write: _pour(stream.body, write), send)
            )


class Live(Response):
    """A stream of this server as the response.

    `source` is given a way to write, and writes until it is done or the client leaves (it is then
    cancelled).
    """

    def __init__(self, source: Source, *, media_type: str) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._source = source

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response; ASGI."""
        del scope
        head = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **head})
        await while_connected(receive, lambda: _to_the_end(self._source, send))


async def while_connected(receive: Receive, work: Callable[[], Awaitable[None]]) -> None:
    """Do `work`, cancelling it when the client disconnects. `work` handles its own errors."""
    async with asyncio.TaskGroup() as group:
        watch = group.create_task(_until_gone(receive))
        worker = group.create_task(_then_stop(work, watch))
        watch.add_done_callback(lambda _: worker.cancel())


async def _then_stop(work: Callable[[], Awaitable[None]], watch: asyncio.Task[None]) -> None:
    await work()
    watch.cancel()


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _pour(pieces: AsyncIterator[bytes], write: Write) -> None:
    async for piece in pieces:
        await write(piece)


async def _to_the_end(source: Source, send: Send) -> None:
    async def write(piece: bytes) -> None:
        await send({"type": "http.response.body", "body": piece, "more_body": True})

    try:
        await source(write)
    except AtollError as error:
        # Returning without a last chunk closes the connection: the client sees it is cut.
        _log.warning("stream_broken", code=error.code, reason=error.message)
        return
    except OSError:
        # The client is gone; the watcher will say the same.
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
