"""Bytes between two sockets until either ends."""

import asyncio
import socket
from pathlib import Path

CHUNK_BYTES = 64 * 1024
SETTLE_SECONDS = 0.5
"""The time in which a guest's link sees that its port was closed or opened. It looks five times a
second; what arrives in between would be lost with the connection before."""


async def join_sockets(near: socket.socket, port: Path, *, used: bool) -> None:
    """Join a connected socket with the one that listens at `port`; `used`: there may have been a
    connection until now."""
    if used:
        await asyncio.sleep(SETTLE_SECONDS)
    loop = asyncio.get_running_loop()
    near.setblocking(False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as far:
        far.setblocking(False)
        await loop.sock_connect(far, str(port))
        await asyncio.sleep(SETTLE_SECONDS)
        # Owned here: cancelled below.
        ways = [loop.create_task(_copy(near, far)), loop.create_task(_copy(far, near))]
        try:
            done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in done:
                way.result()
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, CHUNK_BYTES):
        await loop.sock_sendall(target, data)
