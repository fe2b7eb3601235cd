"""A terminal's WebSocket: handed over to its runtime, or relayed frame by frame.

Relayed frames are not read, changed or kept: bytes stay bytes, text stays text, and close codes
pass. Each direction waits for its receiver, so a slow side slows its sender.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Unavailable,
)
from atoll.ports.runtime import Channel, HandoverLink
from atoll.surfaces.http.server.connections.handover import EXTENSION

TRY_AGAIN: Final = 1013
"""The close code when the runtime cannot be reached, or vanished without a close frame: reconnect
with `since`."""

REFUSED: Final = 4403
NO_SUCH: Final = 4404
NOT_RUNNING: Final = 4409
FAILURE: Final = 1011
NORMAL: Final = 1000

# Codes an endpoint may send (RFC 6455 §7.4); 1005, 1006 and 1015 only ever describe.
_UNSENDABLE: Final = frozenset({1004, 1005, 1006, 1015})
_MAX_REASON_BYTES: Final = 120


async def relay(socket: WebSocket, opened: AbstractAsyncContextManager[Channel]) -> None:
    """Open the runtime's side, accept the client's, and relay frames until one side closes.

    A client whose terminal cannot be attached is accepted and closed with a code it can read: a
    browser learns nothing from a refused handshake.
    """
    try:
        async with opened as channel:
            try:
                await socket.accept()
            except OSError:
                # The client went before it was answered.
                return
            code = await _both_ways(socket, channel)
            await close(socket, code)
    except AtollError as error:
        await close(socket, code_of(error), error.message)


async def serve_attach(
    socket: WebSocket,
    links: AbstractAsyncContextManager[HandoverLink | None],
    opened: AbstractAsyncContextManager[Channel],
) -> None:
    """Attach a client to a terminal: its connection is handed over to the runtime where that is
    possible, and relayed here where it is not."""
    protocol = socket.scope.get("extensions", {}).get(EXTENSION)
    try:
        if protocol is not None:
            async with links as link:
                if link and protocol.ready() and await protocol.offer(link):
                    await socket.accept()
                    await protocol.release(link)
                    await link.ended()
                    return
    except AtollError as error:
        await close(socket, code_of(error), error.message)
        return
    except (WebSocketDisconnect, OSError):
        # The client or its runtime went meanwhile; a client that is left comes back.
        return
    await relay(socket, opened)


async def while_shown(
    socket: WebSocket, served: Coroutine[Any, Any, None], lost: Coroutine[Any, Any, bool]
) -> None:
    """Serve a client until that ends, or until `lost` returns: it may do less now, or nothing."""
    async with asyncio.TaskGroup() as group:
        serving, losing = group.create_task(served), group.create_task(lost)
        serving.add_done_callback(lambda _: losing.cancel())
        losing.add_done_callback(lambda _: serving.cancel())
    if not losing.cancelled():
        code = TRY_AGAIN if losing.result() else NO_SUCH
        await close(socket, code, "you may not do here what you might when you came")


async def _both_ways(socket: WebSocket, channel: Channel) -> int | None:
    """Relay frames both ways; return the code to close the client with, None when it left
    itself."""
    async with asyncio.TaskGroup() as group:
        down = group.create_task(_relay_to_client(socket, channel))
        up = group.create_task(_relay_to_channel(socket, channel))
        down.add_done_callback(lambda _: up.cancel())
        up.add_done_callback(lambda _: down.cancel())
    return None if down.cancelled() else down.result()


async def _relay_to_client(socket: WebSocket, channel: Channel) -> int | None:
    """Pass the channel's frames to the client; return the close code, if it is still there."""
    try:
        async for frame in channel:
            kind = "text" if isinstance(frame, str) else "bytes"
            await socket.send({"type": "websocket.send", kind: frame})
    except (WebSocketDisconnect, OSError):
        return None
    code = channel.close_code
    return TRY_AGAIN if code is None else code


async def _relay_to_channel(socket: WebSocket, channel: Channel) -> None:
    closed = False
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            await channel.close(_valid_close_code(message.get("code")))
            return
        if closed:
            continue
        frame = message.get("bytes")
        try:
            await channel.send(message["text"] if frame is None else frame)
        except Unavailable:
            # The other direction is about to read why, and says it to the client.
            closed = True


async def close(socket: WebSocket, code: int | None, reason: str = "") -> None:
    """Close a WebSocket with a code and a reason that its client can read; None: it is gone."""
    if code is None or socket.client_state is WebSocketState.DISCONNECTED:
        return
    cut = reason.encode()[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
    try:
        if socket.application_state is WebSocketState.CONNECTING:
            await socket.accept()
        await socket.close(_valid_close_code(code), cut)
    except (WebSocketDisconnect, OSError, RuntimeError):
        # The client left first; there is nobody to report to.
        return


def _valid_close_code(code: int | None) -> int:
    return NORMAL if code is None or code < NORMAL or code in _UNSENDABLE else code


def code_of(error: AtollError) -> int:
    """Return the close code that says why a WebSocket ends."""
    match error:
        case Forbidden() | Invalid():
            return REFUSED
        case NotFound():
            return NO_SUCH
        case Conflict():
            return NOT_RUNNING
        case Unavailable():
            return TRY_AGAIN
        case AtollError():
            return FAILURE
