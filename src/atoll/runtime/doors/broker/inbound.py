"""Connection from inside: bytes to requests, answers to bytes, one request at a time.

Strict (llhttp): what could be read in two ways is answered with 400 and the connection ends.
Requests that came early wait their turn. Reading stops while a few wait, or while the client does
not read its answers, so a connection holds one read of the socket at most. It knows no keys or
rules.
"""

import asyncio
import json
import select
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import cast

import httptools

from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.exchange import Exchange
from atoll.runtime.doors.broker.request import MAX_HEAD_BYTES, BrokerRequest, RequestShapes

MAX_EARLY_BYTES = 256 * 1024
MAX_EARLY_REQUESTS = 8
SLICE_BYTES = 4 * 1024
"""Bytes given to the parser at once outside a body. The parser cannot be stopped in between, so
this many bytes of requests may be parsed beyond the bound."""

MAX_DRAINED_BYTES = 64 * 1024 * 1024
_SECURED = b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
_UNREADABLE = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

Begin = Callable[[BrokerRequest, "Inbound"], Exchange | Refusal]
"""Starts what a request asks for; the exchange may be over when this returns."""


class Inbound(asyncio.Protocol):
    """Connection from inside. `begin` is called for each request when its turn comes."""

    def __init__(self, begin: Begin, shapes: RequestShapes, crowd: "set[Inbound]") -> None:
        self.idle_since = monotonic()
        self._begin = begin
        self._shapes = shapes
        self._crowd = crowd
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._queue: deque[BrokerRequest] = deque()
        self._current: BrokerRequest | None = None
        self._exchange: Exchange | None = None
        self._answered = self._raw = self._broken = self._pumping = self._feeding = False
        self._paused = self._held = self._unread = False
        self._early = self._drained = self._head_bytes = self._body_left = 0
        self._unparsed = b""
        self._url = b""
        self._said: list[bytes] = []
        self._in_head = False
        self._newest: BrokerRequest | None = None

    @property
    def idle(self) -> bool:
        """True when it waits for a request, or the rest of a head."""
        return self._current is None

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Add the connection to the crowd."""
        self._transport = cast(asyncio.Transport, transport)
        self._crowd.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange: the client is gone."""
        self._transport = None
        self._crowd.discard(self)
        self._queue.clear()
        self._unparsed = b""
        if self._exchange is not None:
            self._exchange.gone()

    def data_received(self, data: bytes) -> None:
        """Take requests apart."""
        if self._raw:
            if self._exchange is not None:
                self._exchange.raw(data)
            return
        if self._broken:
            return
        self._unparsed += data
        self._advance()

    def pause_writing(self) -> None:
        """Begin no request and pause the answer: the client reads too slowly."""
        self._unread = True
        if self._exchange is not None:
            self._exchange.answer_hold(True)

    def resume_writing(self) -> None:
        """Resume the answer and the requests: the client caught up."""
        self._unread = False
        if self._exchange is not None:
            self._exchange.answer_hold(False)
        self._advance()

    # The parser's side.

    def on_message_begin(self) -> None:
        """Begin a head."""
        self._url, self._said, self._in_head = b"", [], True

    def on_url(self, url: bytes) -> None:
        """Add a piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are not kept."""
        if self._in_head:
            self._said += (name, value)

    def on_headers_complete(self) -> None:
        """Queue the request of a whole head."""
        self._in_head, self._head_bytes = False, 0
        request = self._shapes.request(self._parser, self._url, self._said)
        if request is None or self._broken:
            self._newest = None
            self._break()
            return
        self._newest = request
        self._body_left = request.length or 0
        self._queue.append(request)
        self._pump()

    def on_body(self, data: bytes) -> None:
        """Pass a piece of a body on, out of its chunks."""
        request = self._newest
        if request is None:
            return
        self._body_left -= len(data)
        if request is not self._current:
            request.early.append(data)
            self._early += len(data)
        elif self._exchange is not None and not self._answered:
            self._exchange.body(data)
        else:
            self._drain(len(data))

    def on_message_complete(self) -> None:
        """End the body of a request."""
        request = self._newest
        if request is None:
            return
        request.complete = True
        if request is not self._current:
            return
        if self._answered:
            self._after(request)
        elif self._exchange is not None:
            self._exchange.body_end()

    # The exchange's side.

    def reply(self, refusal: Refusal) -> None:
        """Send a whole answer of the door's own."""
        fields = {"error": refusal.error, **dict(refusal.fields), "message": refusal.message}
        body = json.dumps(fields, separators=(",", ":")).encode()
        close = b"" if self._keeps else b"Connection: close\r\n"
        self._write(
            b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b%b\r\n%b"
            % (refusal.status, refusal.error.encode(), len(body), _SECURED, close, body)
        )
        self._done(close=False)

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        """Return an answer's head, which says so when this connection ends with it."""
        self._raw = raw
        if not self._keeps and not raw and b"\r\nConnection: close\r\n" not in head:
            head = head[:-2] + b"Connection: close\r\n\r\n"
        return head

    def reply_data(self, data: bytes) -> None:
        """Send framed or raw bytes."""
        self._write(data)

    def reply_end(self, *, close: bool) -> None:
        """End the answer."""
        self._done(close=close)

    def drop(self) -> None:
        """Cut the connection, after what was written when both sides speak their own."""
        if self._transport is not None:
            (self._transport.close if self._raw else self._transport.abort)()

    def hold(self, paused: bool) -> None:
        """Stop or go on reading."""
        self._held = paused
        self._balance()

    def expired(self) -> None:
        """Close an idle connection, with whatever the client does not read."""
        if self._transport is not None:
            (self._transport.abort if self._unread else self._transport.close)()

    @property
    def left(self) -> bool:
        """True when the client hung up while nothing is read from it, so that no event
        reported it."""
        if not self._paused or self._transport is None or self._transport.is_closing():
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
        return bool(poll.poll(0))

    @property
    def _full(self) -> bool:
        """True when enough waits for its turn."""
        return len(self._queue) >= MAX_EARLY_REQUESTS or self._early > MAX_EARLY_BYTES

    @property
    def _keeps(self) -> bool:
        current = self._current
        return current is not None and current.shape.keep_alive and not self._broken

    def _advance(self) -> None:
        """Parse what came and begin requests in turn, until either has to wait."""
        self._pump()
        if self._feeding or self._pumping:
            return
        while self._unparsed and not self._full:
            self._feed()
            self._pump()
        self._balance()

    def _feed(self) -> None:
        """Give the parser what came, as long as there is room for requests."""
        self._feeding = True
        try:
            while self._unparsed and not self._full:
                size = max(self._body_left, SLICE_BYTES)
                data, self._unparsed = self._unparsed[:size], self._unparsed[size:]
                self._parse(data)
        finally:
            self._feeding = False

    def _parse(self, data: bytes) -> None:
        self._head_bytes += len(data) if self._newest is None or self._newest.complete else 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as switch:
            self._switch(data[switch.args[0] :] + self._unparsed)
        except httptools.HttpParserError:
            self._break()
        if self._in_head and self._head_bytes > MAX_HEAD_BYTES:
            self._break()

    def _pump(self) -> None:
        """Begin requests in turn, until one has to wait."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._queue and self._current is None and not self._unread and self._transport:
                self._start(self._queue.popleft())
        finally:
            self._pumping = False
        if self._exchange is not None and not self._feeding:
            # Not from within the parser: head and body of a request leave in one piece.
            self._exchange.asked()
        if self._broken and self._current is None and self._transport is not None:
            self._transport.close()

    def _start(self, request: BrokerRequest) -> None:
        self._current, self._answered = request, False
        if request.early:
            self._early -= sum(map(len, request.early))
        if request.shape.expects and not request.complete:
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        begun = self._begin(request, self)
        if isinstance(begun, Refusal):
            self.reply(begun)
            return
        self._exchange = None if self._answered else begun
        for piece in request.early:
            if self._exchange is not None:
                self._exchange.body(piece)
        if request.complete and self._exchange is not None:
            self._exchange.body_end()
        request.early = []

    def _done(self, *, close: bool) -> None:
        """Finish an answer: begin the next request, once the rest of this one has come."""
        request, self._answered, self._exchange = self._current, True, None
        if request is None or self._transport is None:
            return
        if close:
            self._transport.close()
            return
        self._held = False
        if request.complete:
            self._after(request)
        else:
            self._balance()

    def _after(self, request: BrokerRequest) -> None:
        """Begin the next request. Not before this one is whole: a client that still sends might not
        read."""
        if not request.shape.keep_alive and self._transport is not None:
            self._transport.close()
            return
        self._current, self._drained = None, 0
        self.idle_since = monotonic()
        self._advance()

    def _drain(self, count: int) -> None:
        self._drained += count
        if self._drained > MAX_DRAINED_BYTES and self._transport is not None:
            self._transport.close()

    def _switch(self, rest: bytes) -> None:
        """Stop parsing: behind an upgrade's head nothing is HTTP any more."""
        self._broken, self._unparsed = True, b""
        if rest and self._exchange is not None:
            self.drop()

    def _break(self) -> None:
        """Stop reading malformed input: answer the requests before it, then end."""
        if self._broken:
            return
        self._broken, self._unparsed = True, b""
        request = self._newest
        if request is not None and not request.complete and request is self._current:
            if self._exchange is not None:
                exchange, self._exchange = self._exchange, None
                exchange.gone()
            if not self._answered:
                self._write(_UNREADABLE)
            self._current = None
        elif self._current is None and not self._queue:
            self._write(_UNREADABLE)

    def _balance(self) -> None:
        """Read while nothing says otherwise."""
        paused = self._held or self._full
        if self._transport is None or paused is self._paused:
            return
        self._paused = paused
        if not self._transport.is_closing():
            (self._transport.pause_reading if paused else self._transport.resume_reading)()

    def _write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)
