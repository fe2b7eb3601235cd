"""Doors of the far side: connections from inside, served by the protocols of this side."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

MakeProtocol = Callable[[], asyncio.Protocol]


class LinkedDoor:
    """One listener of the far side, by its port and family."""

    def __init__(self) -> None:
        self._make: MakeProtocol | None = None

    async def listen(self, make: MakeProtocol) -> None:
        """Serve connections by `make` from now on."""
        self._make = make

    def close(self) -> None:
        """Serve no more. Idempotent."""
        self._make = None

    @property
    def open(self) -> bool:
        """True while somebody serves it."""
        return self._make is not None

    async def connected(self, connection: socket.socket) -> None:
        """Serve a connection; the door owns it."""
        if self._make is None:
            connection.close()
            return
        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(self._make, connection)
