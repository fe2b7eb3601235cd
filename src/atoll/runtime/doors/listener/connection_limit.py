"""A bound on the connections of a door: past it, a caller is hung up on at once.

Whoever is inside may open connections without end; each costs the runtime a descriptor and
memory that its terminals need. Knows nothing of what is spoken at the door.
"""

import asyncio
from collections.abc import Callable

MAX_CONNECTIONS = 256


class Turnstile:
    """Counts the connections of one door, over all its listeners."""

    def __init__(self, limit: int = MAX_CONNECTIONS) -> None:
        self._limit = limit
        self._inside = 0

    def guarding(self, make: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """A protocol factory like `make`, for `loop.create_server`, that lets `limit` in."""
        return lambda: _Passage(self, make)

    def enter(self) -> bool:
        """Whether there is room for one more, who is counted then."""
        if self._inside >= self._limit:
            return False
        self._inside += 1
        return True

    def leave(self) -> None:
        """One of those who entered is gone."""
        self._inside -= 1


class _Passage(asyncio.Protocol):
    """One connection: the door's own protocol behind it, or none when there was no room."""

    def __init__(self, turnstile: Turnstile, make: Callable[[], asyncio.Protocol]) -> None:
        self._turnstile = turnstile
        self._make = make
        self._behind: asyncio.Protocol | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let it in, or hang up."""
        if self._turnstile.enter():
            self._behind = self._make()
            self._behind.connection_made(transport)
        elif isinstance(transport, asyncio.WriteTransport):
            transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Make room."""
        if self._behind is not None:
            self._turnstile.leave()
            self._behind.connection_lost(error)
            self._behind = None

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        if self._behind is not None:
            self._behind.data_received(data)

    def eof_received(self) -> bool | None:
        """Pass it on."""
        return self._behind.eof_received() if self._behind is not None else None

    def pause_writing(self) -> None:
        """Pass it on."""
        if self._behind is not None:
            self._behind.pause_writing()

    def resume_writing(self) -> None:
        """Pass it on."""
        if self._behind is not None:
            self._behind.resume_writing()
