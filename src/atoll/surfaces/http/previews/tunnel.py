"""The passage of an upgraded connection: WebSockets, and whatever else HTTP/1.1 continues as.

After the handshake the bytes pass unread, both ways, until one side ends. So compression, frames of
any size and subprotocols are between the browser and the server inside.
"""

import asyncio
from contextlib import suppress
from typing import Final

import h11
from starlette.types import Send

from atoll.domain.errors import Failed, Unavailable
from atoll.domain.previews.head import outer_headers
from atoll.ports.runtime import Channel
from atoll.surfaces.http.previews.passage import InnerLine, InnerRequest, pass_body, pass_head
from atoll.surfaces.http.server.connections.upgrades import UpgradableConnection

HANDSHAKE_SECONDS: Final = 30.0
HALF_CLOSED_SECONDS: Final = 10.0
"""The time that the server inside has once its client sends no more."""

CHUNK_BYTES: Final = 64 * 1024
END: Final = "end"
_SWITCHING: Final = 101


async def pass_upgrade(
    channel: Channel, request: InnerRequest, client: UpgradableConnection, send: Send
) -> None:
    """Pass a handshake, and then the bytes of both sides; an answer that declines passes as it is.
    Raises `Invalid`, `Unavailable`, `Failed` before the browser was answered."""
    line = InnerLine(channel)
    await line.send(request.event(), h11.EndOfMessage())
    events = line.events()
    try:
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            head = await anext(events, None)
    except TimeoutError as error:
        raise Unavailable(
            f"the server inside did not answer within {HANDSHAKE_SECONDS:g} s",
            code="preview_silent",
        ) from error
    if isinstance(head, h11.Response):
        await pass_head(send, head, request.outside)
        await pass_body(send, events)
        return
    if not isinstance(head, h11.InformationalResponse) or head.status_code != _SWITCHING:
        raise Failed("the server inside did not answer the handshake", code="bad_preview_answer")
    headers = outer_headers(tuple(head.headers), request.outside, upgraded=True)
    await send({"type": "http.response.start", "status": _SWITCHING, "headers": list(headers)})
    await _both_ways(channel, line.rest, client)


async def _both_ways(channel: Channel, rest: bytes, client: UpgradableConnection) -> None:
    reader, writer = client.streams()
    if rest:
        writer.write(rest)
    with suppress(OSError):
        async with asyncio.TaskGroup() as group:
            down = group.create_task(_copy_to_client(channel, writer))
            up = group.create_task(_copy_to_sandbox(channel, reader))
            down.add_done_callback(lambda _: up.cancel())
            up.add_done_callback(lambda _: down.cancel())


async def _copy_to_client(channel: Channel, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        async for frame in channel:
            writer.write(frame.encode() if isinstance(frame, str) else frame)
            await writer.drain()


async def _copy_to_sandbox(channel: Channel, reader: asyncio.StreamReader) -> None:
    with suppress(OSError, Unavailable):
        while data := await reader.read(CHUNK_BYTES):
            await channel.send(data)
        await channel.send(END)
        await asyncio.sleep(HALF_CLOSED_SECONDS)
