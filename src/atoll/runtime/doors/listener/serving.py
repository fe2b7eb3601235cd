"""Serving a protocol at a door's listeners, with a bound on its connections."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from atoll.runtime.doors.listener.connection_limit import MAX_CONNECTIONS, Turnstile


@asynccontextmanager
async def opened(
    make: Callable[[], asyncio.Protocol], doors: tuple[socket.socket, ...]
) -> AsyncIterator[None]:
    """Serve `make` on these listening sockets until the end of the block. Takes them over and
    closes them."""
    loop = asyncio.get_running_loop()
    guarded = Turnstile().guarding(make)
    # With a shorter queue the kernel drops whoever comes at once, to try again a second later.
    servers = [
        await loop.create_server(guarded, sock=door, backlog=MAX_CONNECTIONS) for door in doors
    ]
    try:
        yield
    finally:
        for server in servers:
            server.close()
