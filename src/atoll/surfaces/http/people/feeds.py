"""Feeds: messages that a client follows for as long as it likes, as server-sent events (WHATWG HTML
§9.2) or as the text frames of a WebSocket.

Each feed knows its place, so a client that was cut off comes back for the rest.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from atoll.domain.errors import AtollError
from atoll.domain.event import read_position
from atoll.surfaces.http.body.streams import Live, Write
from atoll.surfaces.http.terminals.relay import TRY_AGAIN, close
from atoll.wire.http.media_types import SSE

HEARTBEAT_SECONDS: Final = 2.0
"""The interval of heartbeats. A page that receives nothing for two of them says so; after seven it
connects anew."""
RETRY_MILLISECONDS: Final = 1000
_BACKLOG: Final = 64


def sse_feed(
    messages: AsyncIterator[bytes], *, start: int | None = None, backlog: int = _BACKLOG
) -> Live:
    """Return the response that sends these messages, whole server-sent events, and ends with them.
    `start` is where they begin: a client cut off before the first one resumes there. `backlog`
    messages wait for a slow client."""
    first = "" if start is None else f"id: {start}\n"
    head = f"retry: {RETRY_MILLISECONDS}\n{first}\n".encode()
    return Live(lambda write: _send(head, messages, write, backlog), media_type=SSE)


async def frame_feed(socket: WebSocket, frames: AsyncIterator[bytes]) -> None:
    """Send these frames by an accepted WebSocket until it is closed, or they cannot be read."""
    async with asyncio.TaskGroup() as group:
        reader = group.create_task(_until_left(socket))
        sender = group.create_task(_send_frames(socket, frames))
        reader.add_done_callback(lambda _: sender.cancel())
        sender.add_done_callback(lambda _: reader.cancel())


def asked_after(socket: WebSocket) -> int | None:
    """Return the position in `?after=`. Raises `Invalid`."""
    after = socket.query_params.get("after")
    if after is None:
        return None
    return read_position(after, "`after` is a position: a whole number", field="after")


async def _send(head: bytes, messages: AsyncIterator[bytes], write: Write, backlog: int) -> None:
    await write(head)
    # Bounded: a slow reader stops the pump, whose place is kept by its position in the log.
    ready: asyncio.Queue[bytes | AtollError | None] = asyncio.Queue(backlog)
    async with asyncio.TaskGroup() as group:
        group.create_task(_pump(messages, ready))
        while True:
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    message = await ready.get()
            except TimeoutError:
                await write(b": still here\n\n")
                continue
            if message is None or isinstance(message, AtollError):
                # The stream ends; its reader comes back with the last position it saw.
                return
            await write(message)


async def _pump(
    messages: AsyncIterator[bytes], ready: asyncio.Queue[bytes | AtollError | None]
) -> None:
    try:
        async for message in messages:
            await ready.put(message)
        await ready.put(None)
    except AtollError as error:
        await ready.put(error)


async def _send_frames(socket: WebSocket, frames: AsyncIterator[bytes]) -> None:
    """Send until the log cannot be read; the client comes back with the last position it saw."""
    try:
        async for frame in frames:
            await socket.send_text(frame.decode())
    except AtollError as error:
        await close(socket, TRY_AGAIN, error.message)
    except (WebSocketDisconnect, OSError):
        # The client left; the reader learns the same.
        return


async def _until_left(socket: WebSocket) -> None:
    """Read and drop what a client sends, which is nothing, until it leaves."""
    try:
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
    except (WebSocketDisconnect, RuntimeError):
        return
