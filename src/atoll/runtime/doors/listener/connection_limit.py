"""The listeners of a door, served with a limit on their connections.

A program inside may open connections without end. Each costs the runtime a descriptor and memory
that its terminals need, so connections above the limit are closed at once. The protocol behind
them is not known here.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeAlias

MAX_CONNECTIONS = 256


class Listener(Protocol):
    """A door that is no socket of this process: a link's."""

    async def listen(self, make: Callable[[], asyncio.Protocol]) -> None:
        """Serve connections by `make` from now on."""
        ...

    def close(self) -> None:
        """Serve no more. Idempotent."""
        ...


Door: TypeAlias = socket.socket | Listener
"""A listening socket, or what serves in its place."""


class ConnectionLimit:
    """A limit on the connections of one door, over all its listeners."""

    def __init__(self, limit: int = MAX_CONNECTIONS) -> None:
        self._limit = limit
        self._count = 0

    def wrap(self, make: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """Return a protocol factory for `loop.create_server` that admits at most `limit`."""
        return lambda: _LimitedConnection(self, make)

    def acquire(self) -> bool:
        """Count one more connection. Returns False, and counts nothing, at the limit."""
        if self._count >= self._limit:
            return False
        self._count += 1
        return True

    def release(self) -> None:
        """Count one connection less."""
        self._count -= 1


class _LimitedConnection(asyncio.Protocol):
    """A connection that forwards to the door's own protocol, or is closed above the limit."""

    def __init__(self, limit: ConnectionLimit, make: Callable[[], asyncio.Protocol]) -> None:
        self._limit = limit
        self._make = make
        self._inner: asyncio.Protocol | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the connection, or close it."""
        if self._limit.acquire():
            self._inner = self._make()
            self._inner.connection_made(transport)
        elif isinstance(transport, asyncio.WriteTransport):
            transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Release the connection's place."""
        if self._inner is not None:
            self._limit.release()
            self._inner.connection_lost(error)
            self._inner = None

    def data_received(self, data: bytes) -> None:
        """Forward the bytes."""
        if self._inner is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """Forward the end of input."""
        return self._inner.eof_received() if self._inner is not None else None

    def pause_writing(self) -> None:
        """Forward the pause."""
        if self._inner is not None:
            self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Forward the end of the pause."""
        if self._inner is not None:
            self._inner.resume_writing()


@asynccontextmanager
async def serve(
    make: Callable[[], asyncio.Protocol], doors: tuple[Door, ...]
) -> AsyncIterator[None]:
    """Serve `make` on these doors until the end of the block, then close them."""
    limited = ConnectionLimit().wrap(make)
    servers = [await _open_door(door, limited) for door in doors]
    try:
        yield
    finally:
        for server in servers:
            server.close()


async def _open_door(
    door: Door, make: Callable[[], asyncio.Protocol]
) -> asyncio.AbstractServer | Listener:
    """Listen at a door, and return the server to close."""
    if isinstance(door, socket.socket):
        # With a shorter backlog the kernel drops simultaneous callers, who retry after a second.
        loop = asyncio.get_running_loop()
        return await loop.create_server(make, sock=door, backlog=MAX_CONNECTIONS)
    await door.listen(make)
    return door
