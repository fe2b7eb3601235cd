"""`GET /ports`, the ports on which something listens; `WS /ports/{port}`, a connection to one; and
`WS /sockets?path=`, a connection to a socket among the files. `WS /connections/{port}` refuses
a port where nobody listens before the upgrade.

Binary frames are the connection's bytes, as they are (nothing is redacted: what listens there is
a program's own interface). The text frame `end` from the client says that it sends no more.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Final, Protocol

from aiohttp import WSMsgType, web

from atoll.domain.errors import Invalid
from atoll.domain.network.forwarded_port import read_port
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer
from atoll.runtime.files.tool import Tool
from atoll.wire.contract.ports import CONNECTIONS_PATH, END, SOCKETS_PATH, PortList

CHUNK_BYTES = 64 * 1024
MAX_FRAME_BYTES = 2**20
PING_SECONDS = 25.0
NOBODY: Final = 4502
"""Close code: nothing listens at that port."""


def routes() -> list[web.RouteDef]:
    """Return the routes."""
    return [
        web.get("/ports", _list),
        web.get("/ports/{port}", _dial),
        web.get(SOCKETS_PATH, _connect),
        web.get(CONNECTIONS_PATH + "/{port}", _connect_port),
    ]


async def _list(request: web.Request) -> web.Response:
    return answer(PortList(await parts_of(request).listening.now()))


async def _dial(request: web.Request) -> web.StreamResponse:
    parts = parts_of(request)
    port = read_port(request.match_info["port"])
    client = _prepared(request)
    async with parts.ports.dial(port) as (process, ours):
        await client.prepare(request)
        parts.activity.touch()
        got = await _relay_port(client, ours, parts.activity.use)
        failed = got == 0 and (await process.wait()).code not in (0, None)
        await client.close(code=NOBODY if failed else 1000)
    return client


async def _connect(request: web.Request) -> web.StreamResponse:
    """Connect to a socket; a refusal comes before the upgrade."""
    parts = parts_of(request)
    client = _prepared(request)
    async with parts.sockets.connect(request.query.get("path", "")) as tool:
        return await _relay_tool(request, client, tool)


async def _connect_port(request: web.Request) -> web.StreamResponse:
    """Connect to a port; a refusal comes before the upgrade."""
    port = read_port(request.match_info["port"])
    client = _prepared(request)
    async with parts_of(request).sockets.connect_port(port) as tool:
        return await _relay_tool(request, client, tool)


async def _relay_tool(
    request: web.Request, client: web.WebSocketResponse, tool: Tool
) -> web.StreamResponse:
    """Pass bytes between a caller and a tool that is connected."""
    parts = parts_of(request)
    await client.prepare(request)
    parts.activity.touch()
    await _relay_bytes(client, tool, parts.activity.use)
    await client.close()
    return client


def _prepared(request: web.Request) -> web.WebSocketResponse:
    """Return the end of a WebSocket that the request can be upgraded to. Raises `Invalid`."""
    client = web.WebSocketResponse(
        heartbeat=PING_SECONDS, compress=False, max_msg_size=MAX_FRAME_BYTES
    )
    if not client.can_prepare(request):
        raise Invalid("a connection is reached by a WebSocket: send an upgrade request")
    return client


class _ByteStream(Protocol):
    """Connection inside. Raises `OSError` when it broke."""

    async def read(self) -> bytes:
        """Return what came; empty at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """Write all of it, as fast as the other side reads."""
        ...

    def end_input(self) -> None:
        """Pass on that no more comes."""
        ...


class _SocketStream:
    """`_ByteStream` of a socket of ours."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> bytes:
        """Return what came."""
        return await self._reader.read(CHUNK_BYTES)

    async def write(self, data: bytes) -> None:
        """Write all of it."""
        self._writer.write(data)
        await self._writer.drain()

    def end_input(self) -> None:
        """Shut our direction down."""
        self._writer.write_eof()


async def _relay_port(
    client: web.WebSocketResponse, ours: socket.socket, use: Callable[[], None]
) -> int:
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        return await _relay_bytes(client, _SocketStream(reader, writer), use)
    finally:
        writer.close()


async def _relay_bytes(
    client: web.WebSocketResponse, stream: _ByteStream, use: Callable[[], None]
) -> int:
    """Pass bytes both ways until the sandbox's side ends or the client left; how many came. What
    the client sends counts as use."""
    async with asyncio.TaskGroup() as tasks:
        down = tasks.create_task(_relay_to_client(stream, client))
        up = tasks.create_task(_relay_to_sandbox(client, stream, use))
        # The end of what comes is the end of all; a client that left, too.
        down.add_done_callback(lambda _: up.cancel())
        up.add_done_callback(lambda _: down.cancel() if client.closed else None)
    return 0 if down.cancelled() else down.result()


async def _relay_to_client(stream: _ByteStream, client: web.WebSocketResponse) -> int:
    """Send the client what the sandbox writes. Returns how many bytes."""
    got = 0
    with contextlib.suppress(OSError):
        while data := await stream.read():
            got += len(data)
            await client.send_bytes(data)
    return got


async def _relay_to_sandbox(
    client: web.WebSocketResponse, stream: _ByteStream, use: Callable[[], None]
) -> None:
    """Write what the client sends, and its end. Each message counts as use."""
    with contextlib.suppress(OSError):
        async for message in client:
            use()
            if message.type is WSMsgType.BINARY:
                await stream.write(message.data)
            elif message.type is WSMsgType.TEXT and message.data == END:
                stream.end_input()
