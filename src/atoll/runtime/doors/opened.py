"""Serving a web application at a door, for callers who may be hostile.

Bodies go through as they come, packed ones too; bad requests are answered and not
logged, since whoever is inside could fill the host's disk with them.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from atoll.runtime.doors.turnstile import Turnstile

SHUTDOWN_SECONDS = 0.5

_silent = logging.Logger("atoll.runtime.doors.requests", logging.CRITICAL)
_silent.addHandler(logging.NullHandler())


@asynccontextmanager
async def opened(app: web.Application, doors: tuple[socket.socket, ...]) -> AsyncIterator[None]:
    """Serve `app` on these listening sockets until the end of the block. Takes them over and
    closes them."""
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_silent,
        shutdown_timeout=SHUTDOWN_SECONDS,
        handler_cancellation=True,
        auto_decompress=False,
    )
    await runner.setup()
    assert runner.server is not None  # noqa: S101  set up above
    guarded = Turnstile().guarding(runner.server)
    loop = asyncio.get_running_loop()
    servers = [await loop.create_server(guarded, sock=door) for door in doors]
    try:
        yield
    finally:
        for server in servers:
            server.close()
        await runner.cleanup()
        for server in servers:
            await server.wait_closed()
