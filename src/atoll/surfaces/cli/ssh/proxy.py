"""The way to the gateway without a port: OpenSSH's bytes over a WebSocket of the API.

Binary frames are bytes, and the end of the connection is the end.
"""

import asyncio
import contextlib
import sys
from collections.abc import Callable

from atoll.client.server import Server
from atoll.client.transport import api_path
from atoll.surfaces.cli.attach.connection import ConnectionEnd, TerminalConnection, open_socket

CHUNK_BYTES = 64 * 1024


async def pass_bytes(
    locate: Callable[[], Server], name: str, notify: Callable[[str], None]
) -> bool:
    """Copy our streams over the WebSocket of a sandbox until either side ends. Returns whether it
    was opened; `notify` receives the reason why not."""
    async with open_socket(locate, api_path("sandboxes", name, "ssh")) as line:
        if isinstance(line, ConnectionEnd):
            notify(f"{name} cannot be reached by SSH (status {line.status})")
            return False
        async with asyncio.TaskGroup() as tasks:
            up = tasks.create_task(_copy_up(line))
            down = tasks.create_task(_copy_down(line))
            await asyncio.wait((up, down), return_when=asyncio.FIRST_COMPLETED)
            up.cancel()
            down.cancel()
        return True


async def _copy_up(line: TerminalConnection) -> None:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader(CHUNK_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, sys.stdin.buffer)
    while data := await reader.read(CHUNK_BYTES):
        if not await line.send(data):
            return


async def _copy_down(line: TerminalConnection) -> None:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, sys.stdout.buffer
    )
    transport.set_write_buffer_limits(high=0)  # what is written has left, also at the end
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    with contextlib.suppress(OSError):
        while not isinstance(frame := await line.receive(), ConnectionEnd):
            if isinstance(frame, bytes):
                writer.write(frame)
                await writer.drain()
