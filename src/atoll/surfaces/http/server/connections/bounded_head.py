"""uvicorn's HTTP protocol with bounds on a request's head and on connections, which it lacks.

Without them any client could send headers until memory ends, or half a head on every connection,
before any credential is checked. A client that does not read an answer is given less memory, too.
Nothing else is changed.
"""

import asyncio
import socket
from functools import partial
from typing import Any, Final

from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.body.json_body import HELD
from atoll.surfaces.http.server.connections.held_bytes import HeldBytes
from atoll.surfaces.http.server.connections.paced_reading import (
    PIECE_BYTES,
    PacedReading,
    Turns,
)
from atoll.surfaces.http.server.connections.pending_connections import (
    KNOWN,
    PendingConnections,
    is_unread,
)
from atoll.surfaces.http.server.connections.proxies import PEER, TrustedProxies
from atoll.surfaces.http.server.connections.upgrades import (
    Takes,
    UpgradableConnection,
    upgrade_scope,
)
from atoll.surfaces.http.server.problems import refuse

MAX_HEAD_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 100
MAX_VALUE_BYTES: Final = 16 * 1024
"""The bytes of one header's value: cookies of a browser have less than half of it."""

HEAD_SECONDS: Final = 15.0
WRITE_HIGH_BYTES: Final = 16 * 1024
"""The bytes of an answer beyond which its sender waits. Streams to clients that do not read hold
that much each; the socket's own buffer, which is larger, keeps the others fast."""

UNSENT_BYTES: Final = 64 * 1024
"""The bytes that the kernel holds for a client and has not sent: it would take megabytes for each
that does not read."""

CHUNKED_BYTES: Final = 16 * 1024
"""The bytes that are parsed at once of a body in chunks, each of which may be tiny."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
_LATE = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class BoundedHead(HttpToolsProtocol):
    """A protocol that bounds heads: 431 for one longer than `MAX_HEAD_BYTES`, for more headers than
    `MAX_HEADERS` and for a value longer than `MAX_VALUE_BYTES`; 408 for one that is late.

    A request that is not authenticated must be whole by then. `pending` bounds the connections of
    one server. `upgrades` says which upgrades a route takes over. A request of one of `proxies` is
    that of the client which it names, and alone: the next on the connection may be another's.
    """

    def __init__(
        self,
        *arguments: Any,
        pending: PendingConnections,
        upgrades: Takes | None = None,
        proxies: TrustedProxies | None = None,
        turns: Turns | None = None,
        held: HeldBytes | None = None,
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._pending = pending
        self._turns = turns or Turns()
        self._held = held or HeldBytes()
        self._kept = 0
        self._reading: PacedReading
        self._left: int | None = None
        self._upgrades = upgrades
        self._proxies = proxies or TrustedProxies()
        self._peer: str | None = None
        self._is_proxied = False
        self._late: asyncio.TimerHandle | None = None
        self._is_known = False
        self._in_head = True
        self._unfinished = 0
        self._heard = 0
        self._excess: str | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for a head."""
        super().connection_made(transport)
        self._reading = PacedReading(self, transport, self._turns)
        self.flow = _Flow(transport, self._reading)
        transport.set_write_buffer_limits(high=WRITE_HIGH_BYTES)
        _bound_unsent(transport.get_extra_info("socket"))
        self._peer = self.client[0] if self.client else None
        self._is_proxied = self._peer is not None and self._proxies.holds(self._peer)
        self._pending.enter(self, self._peer)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection from the count."""
        self._leave()
        self._held.note(self, 0)
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        """Leave the connection to another protocol from here on."""
        self._leave()
        self._held.note(self, 0)
        self._reading.drop()
        self.transport.set_write_buffer_limits()
        if self._takes_upgrade():
            self.connections.discard(self)
            self._pass_on()
        else:
            source = (self.scope["client"], self._peer) if self._is_proxied else (None, None)
            protocol: Any = self.ws_protocol_class
            named = {"source": source, "turns": self._turns, "held": self._held}
            self.ws_protocol_class = partial(protocol, **named)  # type: ignore[assignment]
            super().handle_websocket_upgrade()
            self._refuse_unreadable()

    def _refuse_unreadable(self) -> None:
        """Answer a handshake that the WebSocket library cannot read, such as one with a line of
        more than 8 KiB: the library waits for the client to leave."""
        handshake = getattr(self.transport.get_protocol(), "conn", None)
        unread = getattr(handshake, "handshake_exc", None) is not None
        if unread and not self.transport.is_closing():
            self.send_400_response("The handshake cannot be read.")

    def _should_upgrade(self) -> bool:
        return self._takes_upgrade() or super()._should_upgrade()

    def _takes_upgrade(self) -> bool:
        """Report whether a route takes this upgrade itself, whatever the protocol."""
        takes = self._upgrades
        return takes is not None and self._get_upgrade() is not None and takes(self.scope)

    def _pass_on(self) -> None:
        connection = UpgradableConnection(self.transport, self.connections)
        scope = upgrade_scope(self.scope, self.url, connection)
        task = self.loop.create_task(connection.run(self.app, scope))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def give_up(self) -> None:
        """Close the connection at once, to make room."""
        self.transport.abort()

    def is_unread(self) -> bool:
        """Report whether the client sent bytes that nobody has read yet."""
        waits = self._reading.waiting_bytes > 0
        return waits or is_unread(self.transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client."""
        self._reading.take(data)
        self._note_held()

    def is_busy(self) -> bool:
        """Report whether a body waits for its route, or a request for the answer to another."""
        return self.flow.read_paused or bool(self.pipeline)

    def piece_bytes(self) -> int:
        """Return how many bytes are parsed at once: of a body whose length is known, all."""
        if self._in_head:
            return PIECE_BYTES
        return CHUNKED_BYTES if self._left is None else max(1, self._left)

    def parse(self, data: bytes) -> None:
        """Count the bytes of an incomplete head: the parser keeps them all."""
        if self._in_head:
            self._watch()
        self._unfinished += len(data)
        super().data_received(data)
        if self._in_head and self._unfinished > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._excess = self._excess or f"a head has at most {MAX_HEAD_BYTES} bytes"
            self.send_400_response("")

    def send_400_response(self, msg: str) -> None:
        """Refuse a head that cannot be read, or is larger than one may be (RFC 6585 §5)."""
        if self._excess is None:
            super().send_400_response(msg)
            return
        text = f"The request's head is too large: {self._excess}.\n".encode()
        size = b"Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(text)
        self.transport.write(_TOO_LARGE + size + text)
        self.transport.close()

    def on_url(self, url: bytes) -> None:
        """Handle a piece of the target."""
        self._count(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Handle a whole header."""
        self._count(name + value)
        if len(value) > MAX_VALUE_BYTES:
            self._refuse(f"a header's value has at most {MAX_VALUE_BYTES} bytes")
        if len(self.headers) == MAX_HEADERS:
            self._refuse(f"a request has at most {MAX_HEADERS} headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Handle the end of the head: what follows is bounded by its route."""
        self._in_head, self._heard = False, 0
        self._left = _length(self.headers)
        if self._is_known:
            self._unwatch()
        extensions: Any = {KNOWN: self._know, HELD: self._keep}
        self.scope["extensions"] = extensions
        if self._is_proxied:
            self._name_client()
        app = self.app
        if not self._is_known and self._pending.is_full(self):
            self.app = _refuse_for_now
        super().on_headers_complete()
        self.app = app

    def on_body(self, body: bytes) -> None:
        """Handle a piece of a body."""
        if self._left is not None:
            self._left -= len(body)
        super().on_body(body)
        self._note_held()

    def on_message_complete(self) -> None:
        """Expect the next head."""
        self._in_head, self._unfinished = True, 0
        self._unwatch()
        super().on_message_complete()
        if self.cycle is not None and not self.cycle.response_complete:
            self._pending.answer(self)

    def on_response_complete(self) -> None:
        """Have the connection wait again, unless its client is known by now."""
        follows = bool(self.pipeline)
        super().on_response_complete()
        self._keep(0)
        if self._is_proxied and not follows:
            self._is_known = False
        if not self._is_known and not follows and not self.transport.is_closing():
            self._pending.enter(self, self._peer)
        self._reading.go_on()

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
        return self.scope["client"][0] if self.scope and self.scope["client"] else ""

    def _keep(self, size: int) -> None:
        """Note how many bytes of a body its route keeps."""
        self._kept = size
        self._note_held()

    def _note_held(self) -> None:
        unread = self.transport.get_write_buffer_size() if self.flow.write_paused else 0
        body = 0 if self.cycle is None else len(self.cycle.body)
        heads = self._reading.waiting_bytes if self._in_head else 0
        self._held.note(self, unread + body + self._kept + heads)

    def _name_client(self) -> None:
        client = self._proxies.client_of(self.headers)
        extensions: Any = self.scope["extensions"]
        extensions[PEER] = self._peer
        if client is not None:
            self.scope["client"] = (client, 0)
            if not self._is_known:
                self._pending.name(self, client)

    def _know(self) -> None:
        self._is_known = self._pending.know(self)
        if not self._in_head:
            self._unwatch()

    def _leave(self) -> None:
        self._unwatch()
        self._pending.leave(self)

    def _watch(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(HEAD_SECONDS, self._too_late)

    def _unwatch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self.transport.write(_LATE)
        self.transport.close()

    def _count(self, piece: bytes) -> None:
        self._heard += len(piece)
        if self._heard > MAX_HEAD_BYTES:
            self._refuse(f"a head has at most {MAX_HEAD_BYTES} bytes")

    def _refuse(self, excess: str) -> None:
        self._excess = excess
        # The parser turns it into an error of its own, which `send_400_response` answers.
        raise ValueError(excess)


class _Flow(FlowControl):
    """The flow of a connection whose reading is paced."""

    def __init__(self, transport: asyncio.Transport, reading: PacedReading) -> None:
        super().__init__(transport)
        self._reading = reading

    def pause_reading(self) -> None:
        """Want nothing more for now: asked for after each piece."""
        self.read_paused = True

    def resume_reading(self) -> None:
        """Read on."""
        if self.read_paused:
            self.read_paused = False
            self._reading.go_on()


def _bound_unsent(own: Any) -> None:
    if own is not None and own.family in (socket.AF_INET, socket.AF_INET6):
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)


def _length(headers: list[tuple[bytes, bytes]]) -> int | None:
    """Return the length of a body, None where only its chunks have one."""
    named = dict(headers)
    length = named.get(b"content-length", b"0")
    chunked = b"transfer-encoding" in named
    return None if chunked or not length.isdigit() else int(length)


async def _refuse_for_now(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 503, and close the connection."""
    crowded = Unavailable("Too many requests wait here for their login to be checked: try again.")

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await send(message)

    await refuse(crowded, scope, receive, closing)
