"""The TLS handshake of a connection, counted and bounded like what follows it.

Left to the event loop, a connection is unknown to the server until its handshake is over. So a
client could open any number of them and say nothing.
"""

import asyncio
import os
import socket
import ssl
from contextlib import suppress
from typing import Any, Final

from atoll.surfaces.http.server.connections.bounded_head import BoundedHead
from atoll.surfaces.http.server.connections.pending_connections import PendingConnections, is_unread

HANDSHAKE_SECONDS: Final = 15.0


class TlsEntry(asyncio.Protocol):
    """A connection until it speaks TLS; `BoundedHead` handles what follows.

    It counts among `pending`, which may close it, and ends when the handshake takes longer than
    `HANDSHAKE_SECONDS`.
    """

    def __init__(
        self, *, context: ssl.SSLContext, pending: PendingConnections, **named: Any
    ) -> None:
        """Enter by `context`. `named` is what `BoundedHead` and uvicorn give every protocol."""
        self._context = context
        self._pending = pending
        self._named = named
        self._socket: socket.socket

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection, and begin the handshake."""
        peer = transport.get_extra_info("peername")
        # A copy, since this transport would read what the TLS layer must.
        fd = transport.get_extra_info("socket").fileno()
        self._socket = socket.socket(fileno=os.dup(fd))
        transport.close()
        self._pending.enter(self, str(peer[0]) if isinstance(peer, tuple) else None)
        state = self._named["server_state"]
        state.connections.add(self)
        task = asyncio.get_running_loop().create_task(self._enter())
        state.tasks.add(task)
        task.add_done_callback(state.tasks.discard)

    def give_up(self) -> None:
        """Close the connection at once, to make room."""
        with suppress(OSError):  # it is closed already
            self._socket.shutdown(socket.SHUT_RDWR)

    def is_unread(self) -> bool:
        """Report whether the client sent bytes that nobody has read yet."""
        return is_unread(self._socket)

    def shutdown(self) -> None:
        """Close the connection: the server ends."""
        self.give_up()

    async def _enter(self) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: BoundedHead(pending=self._pending, **self._named),
                self._socket,
                ssl=self._context,
                ssl_handshake_timeout=HANDSHAKE_SECONDS,
            )
        except OSError:
            # No TLS, too late, or gone: there is nobody to answer.
            self._socket.close()
        finally:
            self._pending.leave(self)
            self._named["server_state"].connections.discard(self)
