"""uvicorn's WebSocket protocol, from which an accepted connection can be handed over.

A route finds it as the ASGI extension `atoll.protocol`. Before it accepts, it calls `ready`, and
`offer` makes a runtime attach the client; after it, `release` hands the connection over. The order
matters: while the client still waits for this server's answer, a runtime with the connection could
answer in its name, to a browser or to a proxy that shares connections. This process keeps only the
link to the runtime, which carries what server and guard would send the client.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from atoll.ports.runtime import HandoverLink
from atoll.surfaces.http.server.connections.proxies import PEER

EXTENSION: Final = "atoll.protocol"
FLUSH_SECONDS: Final = 5.0
FLUSH_PAUSE_SECONDS: Final = 0.01
GOING_AWAY: Final = 1012


class HandoverProtocol(WebSocketsSansIOProtocol):
    """A protocol for plain TCP only: data that a TLS layer holds could not be handed over."""

    def __init__(
        self,
        *arguments: Any,
        source: tuple[tuple[str, int] | None, str | None] = (None, None),
        **named: Any,
    ) -> None:
        """`source` is the client that a trusted proxy names, and the proxy's own address."""
        super().__init__(*arguments, **named)
        self._source = source
        self._link: HandoverLink | None = None

    def handle_connect(self, event: Any) -> None:
        """Offer the extension with every handshake."""
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            extensions: Any = self.scope["extensions"]
            extensions[EXTENSION] = self
            client, peer = self._source
            if peer is not None:
                extensions[PEER] = peer
                self.scope["client"] = client

    def ready(self) -> bool:
        """Report whether the client sent nothing after its handshake; if so, nothing more is read
        until `offer` fails."""
        if self.scheme != "ws" or self.disconnected or self.transport.is_closing():
            return False
        self.transport.pause_reading()
        # A client that sends data before the handshake is answered stays with this process, which
        # has already read that data.
        if self.queue.qsize() > 1 or self.frames or self.conn.reader.buffer:
            self.transport.resume_reading()
            return False
        return True

    async def offer(self, link: HandoverLink) -> bool:
        """Report whether the runtime attaches the client, which is not answered yet. Otherwise this
        connection continues unchanged."""
        if await link.is_admitted():
            return True
        self.transport.resume_reading()
        return False

    async def release(self, link: HandoverLink) -> None:
        """Hand the accepted client over to the runtime alone.

        Raises `OSError` when one of them is gone; the connection is then broken.
        """
        self.stop_keepalive()
        try:
            await self._flush()
            # The runtime's own copy: closing one of them shuts nothing down.
            link.pass_socket(self.transport.get_extra_info("socket").fileno())
            self._link = link
        finally:
            self.transport.abort()

    async def _flush(self) -> None:
        """Return once the client's handshake is answered to the last byte."""
        pause = 0.0
        async with asyncio.timeout(FLUSH_SECONDS):
            # Nothing reports an empty buffer; the loop writes it at the end of a turn, and
            # a client that takes nothing is not waited for turn by turn.
            while self.transport.get_write_buffer_size():
                await asyncio.sleep(pause)
                pause = FLUSH_PAUSE_SECONDS
        if self.transport.is_closing():
            raise ConnectionResetError("the client disconnected")

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle a lost connection. The handover loses it, too; then the server goes on counting
        it."""
        super().connection_lost(exc)
        if self._link is not None:
            self.connections.add(self)

    async def send(self, message: Any) -> None:
        """Send an event to the client; after the handover, only that it must close."""
        if self._link is None:
            await super().send(message)
        elif message["type"] == "websocket.close":
            self._link.close_client(message.get("code", 1000), message.get("reason") or "")

    def shutdown(self) -> None:
        """End the connection: the server stops."""
        if self._link is None:
            super().shutdown()
        else:
            self._link.close_client(GOING_AWAY, "the server is shutting down")

    def on_task_complete(self, task: "asyncio.Task[None]") -> None:
        """Handle the end of the route: a client that was handed over is released."""
        super().on_task_complete(task)
        if self._link is not None:
            self._link.disconnect()
            self.connections.discard(self)
