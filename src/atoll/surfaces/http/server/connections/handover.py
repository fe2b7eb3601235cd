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
from atoll.surfaces.http.server.connections.held_bytes import HeldBytes
from atoll.surfaces.http.server.connections.paced_reading import (
    PIECE_BYTES,
    PacedReading,
    Turns,
)
from atoll.surfaces.http.server.connections.proxies import PEER

EXTENSION: Final = "atoll.protocol"
FLUSH_SECONDS: Final = 5.0
FLUSH_PAUSE_SECONDS: Final = 0.01
GOING_AWAY: Final = 1012
NO_TEXT: Final = 1007
POLICY: Final = 1008
MAX_FRAGMENTS: Final = 1024
"""The frames of one message."""


class HandoverProtocol(WebSocketsSansIOProtocol):
    """A protocol for plain TCP only: data that a TLS layer holds could not be handed over."""

    def __init__(
        self,
        *arguments: Any,
        source: tuple[tuple[str, int] | None, str | None] = (None, None),
        turns: Turns | None = None,
        held: HeldBytes | None = None,
        **named: Any,
    ) -> None:
        """`source` is the client that a trusted proxy names, and the proxy's own address. `turns`
        and `held` are those of the server."""
        super().__init__(*arguments, **named)
        self._source = source
        self._turns = turns or Turns()
        self._held = held or HeldBytes()
        self._given = self._queued = 0
        self._link: HandoverLink | None = None
        self._reading: PacedReading

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection whose handshake is read next."""
        super().connection_made(transport)
        self._reading = PacedReading(self, self.transport, self._turns)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client. The handshake was bounded before."""
        if self.handshake_initiated:
            self._reading.take(data)
            self._note_held()
        else:
            super().data_received(data)

    def parse(self, data: bytes) -> None:
        """Parse frames."""
        super().data_received(data)
        self._note_held()

    def send_receive_event_to_app(self) -> None:
        """Have a whole message wait for the route. A text that is none ends the connection."""
        self._queued += sum(map(len, self.frames))
        if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self.frames = []
            self._fail(NO_TEXT, "a text is UTF-8")
        else:
            super().send_receive_event_to_app()

    def _fail(self, code: int, reason: str) -> None:
        if not self.close_sent:
            self.conn.fail(code, reason)
            self.handle_parser_exception()

    def pause_writing(self) -> None:
        """Note what the client does not read."""
        super().pause_writing()
        self._note_held()

    def resume_writing(self) -> None:
        """Note that the client has read."""
        super().resume_writing()
        self._note_held()

    def held_for(self) -> str:
        """Return the address of the client."""
        return self.client[0] if self.client else ""

    def give_up(self) -> None:
        """Close the connection at once, to make room."""
        self.transport.abort()

    def _note_held(self) -> None:
        unread = 0 if self.writable.is_set() else self.transport.get_write_buffer_size()
        partial = len(self.conn.reader.buffer) + sum(map(len, self.frames))
        waiting = self._reading.waiting_bytes
        self._held.note(self, unread + partial + waiting + self._queued + self._given)

    def is_busy(self) -> bool:
        """Report whether messages wait for the route."""
        return self.read_paused

    def piece_bytes(self) -> int:
        """Return how many bytes are parsed at once."""
        return PIECE_BYTES

    async def receive(self) -> Any:
        """Return the next event; with the last one that waits, more is read."""
        message: Any = await self.queue.get()
        self._given = len(message.get("bytes") or message.get("text") or b"")
        self._queued = 0 if self.queue.empty() else max(0, self._queued - self._given)
        self._note_held()
        if self.read_paused and self.queue.empty():
            self.read_paused = False
            self._reading.go_on()
        return message

    def handle_ping(self) -> None:
        """Answer a ping, unless the client reads too little: the next answer is enough."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_cont(self, event: Any) -> None:
        """Add a frame to a message, which has a bounded number of them."""
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        else:
            self._fail(POLICY, f"a message has at most {MAX_FRAGMENTS} frames")

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
        held = self.frames or self.conn.reader.buffer or self._reading.waiting_bytes
        if self.queue.qsize() > 1 or held:
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
        self._held.note(self, 0)
        if self._link is not None:
            self.connections.add(self)

    async def send(self, message: Any) -> None:
        """Send an event to the client; after the handover, only that it must close."""
        if self._link is None:
            await super().send(message)
            self._reading.go_on()
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


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
