"""`GET /ports`, the ports on which something listens, and `WS /ports/{port}`, a connection to one.

Binary frames are the connection's bytes, as they are (nothing is redacted: what listens there is
a program's own interface). The text frame `end` from the client says that it sends no more.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Final

from aiohttp import WSMsgType, web

from atoll.domain.errors import Invalid
from atoll.domain.network.forwarded_port import read_port
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer
from atoll.wire.contract.ports import PortList

CHUNK_BYTES = 64 * 1024
MAX_FRAME_BYTES = 2**20
PING_SECONDS = 25.0
END = "end"
NOBODY: Final = 4502
"""Close code: nothing listens at that port."""


def routes() -> list[web.RouteDef]:
    """Return the routes."""
    return [web.get("/ports", _list), web.get("/ports/{port}", _dial)]


async def _list(request: web.Request) -> web.Response:
    return answer(PortList(await parts_of(request).listening.now()))


async def _dial(request: web.Request) -> web.StreamResponse:
    parts = parts_of(request)
    port = read_port(request.match_info["port"])
    client = web.WebSocketResponse(
        heartbeat=PING_SECONDS, compress=False, max_msg_size=MAX_FRAME_BYTES
    )
    if not client.can_prepare(request):
        raise Invalid("a port is reached by a WebSocket: send an upgrade request")
    async with parts.ports.dial(port) as (process, ours):
        await client.prepare(request)
        parts.activity.touch()
        got = await _relay_bytes(client, ours, parts.activity.use)
        failed = got == 0 and (await process.wait()).code not in (0, None)
        await client.close(code=NOBODY if failed else 1000)
    return client


async def _relay_bytes(
    client: web.WebSocketResponse, ours: socket.socket, use: Callable[[], None]
) -> int:
    """Pass bytes both ways until the sandbox's side ends or the client left; how many came. What
    the client sends counts as use."""
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        async with asyncio.TaskGroup() as tasks:
            down = tasks.create_task(_relay_to_client(reader, client))
            up = tasks.create_task(_relay_to_sandbox(client, writer, use))
            # The end of what comes is the end of all; a client that left, too.
            down.add_done_callback(lambda _: up.cancel())
            up.add_done_callback(lambda _: down.cancel() if client.closed else None)
        return 0 if down.cancelled() else down.result()
    finally:
        writer.close()


async def _relay_to_client(reader: asyncio.StreamReader, client: web.WebSocketResponse) -> int:
    """Send the client what the sandbox writes. Returns how many bytes."""
    got = 0
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            got += len(data)
            await client.send_bytes(data)
    return got


async def _relay_to_sandbox(
    client: web.WebSocketResponse, writer: asyncio.StreamWriter, use: Callable[[], None]
) -> None:
    """Write what the client sends, and its end. Each message counts as use."""
    with contextlib.suppress(OSError):
        async for message in client:
            use()
            if message.type is WSMsgType.BINARY:
                writer.write(message.data)
                await writer.drain()
            elif message.type is WSMsgType.TEXT and message.data == END:
                writer.write_eof()
