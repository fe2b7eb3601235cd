"""uvicorn's WebSocket protocol, from whose hands an accepted connection can be taken.

A route finds it as the ASGI extension `atoll.handing`. Before it accepts, it asks `ready`, and
`offer` has a runtime seat the client; after it, `release` hands the connection over. Not before:
a runtime with a connection on which an answer of this server is awaited could speak in its name,
to a browser or to a proxy that shares connections. This process keeps only the tether: what server
and guard would say to the client, they say to the runtime.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from atoll.ports.runtime import Tether

EXTENSION: Final = "atoll.handing"
FLUSH_SECONDS: Final = 5.0
FLUSH_PAUSE_SECONDS: Final = 0.01
GOING_AWAY: Final = 1012


class HandingProtocol(WebSocketsSansIOProtocol):
    """Plain TCP only: what a TLS layer holds could not be handed over."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._tether: Tether | None = None

    def handle_connect(self, event: Any) -> None:
        """Offer the extension with every handshake."""
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            extensions: Any = self.scope["extensions"]
            extensions[EXTENSION] = self

    def ready(self) -> bool:
        """Whether nothing of the client's came after its handshake; then nothing does until
        `offer` fails."""
        if self.scheme != "ws" or self.disconnected or self.transport.is_closing():
            return False
        self.transport.pause_reading()
        # Besides the handshake itself: a client that talks before it is answered is served
        # here, by what heard it.
        if self.queue.qsize() > 1 or self.frames or self.conn.reader.buffer:
            self.transport.resume_reading()
            return False
        return True

    async def offer(self, tether: Tether) -> bool:
        """Whether the runtime has a seat for the client, which is not answered yet. Without one
        this connection goes on as it was."""
        if await tether.seated():
            return True
        self.transport.resume_reading()
        return False

    async def release(self, tether: Tether) -> None:
        """The client was accepted: leave it to the runtime alone. Raises `OSError` when one of
        them is gone; the connection is broken then."""
        self.stop_keepalive()
        try:
            await self._flush()
            # The runtime's own copy: closing one of them shuts nothing down.
            tether.hand(self.transport.get_extra_info("socket").fileno())
            self._tether = tether
        finally:
            self.transport.abort()

    async def _flush(self) -> None:
        """Return once the client's handshake is answered to the last byte."""
        pause = 0.0
        async with asyncio.timeout(FLUSH_SECONDS):
            # Nothing tells of an empty buffer; the loop writes it at the end of a turn, and
            # whoever takes nothing is not waited for turn by turn.
            while self.transport.get_write_buffer_size():
                await asyncio.sleep(pause)
                pause = FLUSH_PAUSE_SECONDS
        if self.transport.is_closing():
            raise ConnectionResetError("the client is gone")

    def connection_lost(self, exc: Exception | None) -> None:
        """Ours is lost by handing it over, too; then the server goes on counting it."""
        super().connection_lost(exc)
        if self._tether is not None:
            self.connections.add(self)

    async def send(self, message: Any) -> None:
        """An event for the client; once it is handed over, only that it must go."""
        if self._tether is None:
            await super().send(message)
        elif message["type"] == "websocket.close":
            self._tether.close(message.get("code", 1000), message.get("reason") or "")

    def shutdown(self) -> None:
        """The server ends."""
        if self._tether is None:
            super().shutdown()
        else:
            self._tether.close(GOING_AWAY, "the server ends")

    def on_task_complete(self, task: "asyncio.Task[None]") -> None:
        """The route is done: whoever was handed over is nobody's any more."""
        super().on_task_complete(task)
        if self._tether is not None:
            self._tether.let_go()
            self.connections.discard(self)
