"""A client's connection: request events in, responses out, one exchange at a time.

`machine.request_reader` parses the bytes and `machine.client_phases.step` says what follows.
Requests that came early wait their turn. Reading pauses while a few requests wait or responses are
not read, so a connection buffers one read of the socket at most. This module knows no keys and no
rules.
"""

import asyncio
import json
import select
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import ClassVar, Final, Protocol, cast

from atoll.domain.broker.passage import OwnAnswer, Refusal
from atoll.runtime.doors.broker.machine.client_phases import (
    START,
    ClientInstruction,
    ClientStimulus,
    InputPhase,
    step,
)
from atoll.runtime.doors.broker.machine.phases import RequestPhase
from atoll.runtime.doors.broker.machine.request_reader import (
    SLICE_BYTES,
    RequestMark,
    RequestReader,
)
from atoll.runtime.doors.broker.request import BrokerRequest, RequestShapes

MAX_EARLY_BYTES = 256 * 1024
MAX_EARLY_REQUESTS = 8
MAX_DRAINED_BYTES = 64 * 1024 * 1024
_SECURED = b"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
_UNREADABLE = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# Python 3.11 finds a member of an enum many times slower than a global.
_PARSED: Final = InputPhase.PARSED
_IDLE: Final = RequestPhase.IDLE
_COMPLETE: Final = RequestMark.COMPLETE
_REQUEST_STARTED: Final = ClientStimulus.REQUEST_STARTED
_REQUEST_ENDED: Final = ClientStimulus.REQUEST_ENDED
_REPLY_ENDED: Final = ClientStimulus.REPLY_ENDED
_END_BODY: Final = ClientInstruction.END_BODY
_ADVANCE: Final = ClientInstruction.ADVANCE


class RequestHandler(Protocol):
    """The receiver of one request: its exchange, or a service of the door's own.

    After a 101 response one that `half_closes` outlives the end of the client's input.
    """

    half_closes: ClassVar[bool]

    @property
    def ended(self) -> bool: ...
    def body(self, data: bytes) -> None: ...
    def body_end(self) -> None: ...
    def asked(self) -> None: ...
    def raw(self, data: bytes) -> None: ...
    def input_ended(self) -> None: ...
    def answer_hold(self, paused: bool) -> None: ...
    def gone(self) -> None: ...


Begin = Callable[[BrokerRequest, "Inbound"], RequestHandler | Refusal | OwnAnswer]
"""Starts the handling of a request. It may have ended when this returns."""


class Inbound(asyncio.Protocol):
    """A connection of a client. `begin` is called for each request when its turn comes. The
    connection is a member of `connections` while it is open."""

    def __init__(self, begin: Begin, shapes: RequestShapes, connections: "set[Inbound]") -> None:
        self.idle_since = monotonic()
        self._begin = begin
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._reader = RequestReader(shapes)
        self._phases = START
        self._queue: deque[BrokerRequest] = deque()
        self._current: BrokerRequest | None = None
        self._exchange: RequestHandler | None = None
        self._newest: BrokerRequest | None = None
        self._advancing = self._paused = False
        self._upstream_slow = self._client_slow = False
        self._early_bytes = self._drained_bytes = 0
        self._unparsed = b""

    @property
    def idle(self) -> bool:
        """True when no request is current: the next head has not come, or not completely."""
        return self._phases.request is _IDLE

    @property
    def abandoned(self) -> bool:
        """True when the client hung up while reading is paused, so that no event reports it."""
        if not self._paused or self._transport is None or self._transport.is_closing():
            return False
        poll = select.poll()
        ends = 0 if self._half_closes else select.POLLRDHUP
        poll.register(self._transport.get_extra_info("socket").fileno(), ends)
        return bool(poll.poll(0))

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the open transport."""
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the exchange of a client that hung up."""
        self._transport = None
        self._connections.discard(self)
        self._queue.clear()
        self._unparsed = b""
        if self._exchange is not None:
            self._exchange.gone()

    def data_received(self, data: bytes) -> None:
        """Process bytes according to the phase of the input."""
        if self._phases.input is _PARSED:
            self._unparsed += data
            self._advance()
        elif self._phases.input is InputPhase.SWITCHED and self._exchange is not None:
            self._exchange.raw(data)

    def eof_received(self) -> bool:
        """Take the end of the client's input. Returns True to keep the connection for answers."""
        if self._exchange is None or not self._half_closes:
            return False
        self._exchange.input_ended()
        return True

    def pause_writing(self) -> None:
        """Pause the response and start no further request until the client reads."""
        self._client_slow = True
        if self._exchange is not None:
            self._exchange.answer_hold(True)

    def resume_writing(self) -> None:
        """Resume the response and the next requests."""
        self._client_slow = False
        if self._exchange is not None:
            self._exchange.answer_hold(False)
        self._advance()

    # The exchange's side.

    def reply(self, refusal: Refusal) -> None:
        """Send a whole response of the door's own."""
        fields = {"error": refusal.error, **dict(refusal.fields), "message": refusal.message}
        self._reply_json(b"%d %b" % (refusal.status, refusal.error.encode()), fields)

    def _reply_json(self, status: bytes, members: dict[str, str]) -> None:
        body = json.dumps(members, separators=(",", ":")).encode()
        close = b"" if self._keeps_alive else b"Connection: close\r\n"
        self.reply_data(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%b%b\r\n%b"
            % (status, len(body), _SECURED, close, body)
        )
        self.reply_end(close=False)

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        """Return a response head that announces when this connection ends with the response."""
        if raw:
            self._apply_stimulus(ClientStimulus.REPLY_SWITCHED)
        elif not self._keeps_alive and b"\r\nConnection: close\r\n" not in head:
            head = head[:-2] + b"Connection: close\r\n\r\n"
        return head

    def reply_data(self, data: bytes) -> None:
        """Send framed or raw bytes."""
        if self._transport is not None:
            self._transport.write(data)

    def reply_end(self, *, close: bool) -> None:
        """End the response and its exchange."""
        self._exchange = None
        if self._transport is None or self._current is None:
            return
        self._upstream_slow = False
        if close:
            self._apply_stimulus(ClientStimulus.CLOSING_REPLY_ENDED)
        else:
            last = not self._current.shape.keep_alive
            self._apply_stimulus(ClientStimulus.LAST_REPLY_ENDED if last else _REPLY_ENDED)

    def drop(self) -> None:
        """Close the connection: at once, or after what was written of another protocol."""
        if self._transport is not None:
            switched = self._phases.input is InputPhase.SWITCHED
            (self._transport.close if switched else self._transport.abort)()

    def hold(self, paused: bool) -> None:
        """Pause or resume reading, as fast as the upstream reads."""
        self._upstream_slow = paused
        self._balance()

    def expire(self) -> None:
        """Close an idle connection, with what its client did not read."""
        if self._transport is not None:
            (self._transport.abort if self._client_slow else self._transport.close)()

    # Requests in turn.

    @property
    def _half_closes(self) -> bool:
        """True when the client may end its input and read on."""
        switched = self._phases.input is InputPhase.SWITCHED
        return switched and self._exchange is not None and self._exchange.half_closes

    @property
    def _full(self) -> bool:
        """True when no further request may wait."""
        return len(self._queue) >= MAX_EARLY_REQUESTS or self._early_bytes > MAX_EARLY_BYTES

    @property
    def _keeps_alive(self) -> bool:
        """True when another request may follow the current one."""
        current = self._current
        parsed = self._phases.input is _PARSED
        return current is not None and current.shape.keep_alive and parsed

    def _advance(self) -> None:
        """Parse bytes and start requests in turn, until either has to wait."""
        if self._advancing:
            return  # A step within the loop below, which goes on by itself.
        self._advancing = True
        try:
            if self._queue:
                self._start_waiting()
            while self._unparsed and not self._full:
                size = max(self._reader.body_left, SLICE_BYTES)
                data, self._unparsed = self._unparsed[:size], self._unparsed[size:]
                self._read(data)
        finally:
            self._advancing = False
        if self._exchange is not None:
            # Not before: head and body of a request leave in one piece.
            self._exchange.asked()
        elif self._phases.input is not _PARSED and self._phases.request is _IDLE:
            self._close()
        self._balance()

    def _read(self, data: bytes) -> None:
        for event in self._reader.feed(data):
            if isinstance(event, bytes):
                self._take_piece(event)
            elif event is _COMPLETE:
                self._complete_newest()
            elif isinstance(event, BrokerRequest):
                self._newest = event
                self._queue.append(event)
            else:
                self._stop_parsing(event)
            if self._queue:
                self._start_waiting()

    def _take_piece(self, data: bytes) -> None:
        request = self._newest
        if request is not None and request is not self._current:
            request.early.append(data)
            self._early_bytes += len(data)
        elif self._exchange is not None:
            self._exchange.body(data)
        else:
            self._drained_bytes += len(data)
            if self._drained_bytes > MAX_DRAINED_BYTES:
                self._close()

    def _complete_newest(self) -> None:
        request = self._newest
        if request is not None:
            request.complete = True
            if request is self._current:
                last = not request.shape.keep_alive
                self._apply_stimulus(ClientStimulus.LAST_REQUEST_ENDED if last else _REQUEST_ENDED)

    def _stop_parsing(self, mark: RequestMark) -> None:
        """Ignore the input behind an upgrade or unreadable bytes."""
        rest, self._unparsed = self._unparsed, b""
        if mark is RequestMark.UNREADABLE:
            waiting = bool(self._queue)
            stimulus = ClientStimulus.LATER_INPUT_BROKEN if waiting else ClientStimulus.INPUT_BROKEN
        else:
            rushed = bool(rest) or mark is RequestMark.RUSHED_UPGRADE
            stimulus = ClientStimulus.UPGRADE_RUSHED if rushed else ClientStimulus.UPGRADE_REQUESTED
        self._apply_stimulus(stimulus)

    def _start_waiting(self) -> None:
        """Start requests in turn, until one has to wait for its response."""
        while (
            self._queue
            and self._current is None
            and not self._client_slow
            and self._transport is not None
        ):
            self._start(self._queue.popleft())

    def _start(self, request: BrokerRequest) -> None:
        self._current = request
        complete = request.complete
        self._apply_stimulus(
            ClientStimulus.COMPLETE_REQUEST_STARTED if complete else _REQUEST_STARTED
        )
        if request.shape.expects and not complete:
            self.reply_data(b"HTTP/1.1 100 Continue\r\n\r\n")
        begun = self._begin(request, self)
        if isinstance(begun, Refusal):
            self.reply(begun)
        elif isinstance(begun, OwnAnswer):
            self._reply_json(b"200 OK", dict(begun.members))
        elif not begun.ended:
            self._exchange = begun
        if request.early:
            self._pass_early(request)
        if complete and self._exchange is not None:
            self._exchange.body_end()

    def _pass_early(self, request: BrokerRequest) -> None:
        pieces, request.early = request.early, []
        for piece in pieces:
            self._early_bytes -= len(piece)
            if self._exchange is not None:
                self._exchange.body(piece)

    def _apply_stimulus(self, stimulus: ClientStimulus) -> None:
        """Step the phases, and perform the instructions."""
        self._phases, instructions = step(self._phases, stimulus)
        for instruction in instructions:
            if instruction is _END_BODY:
                if self._exchange is not None:
                    self._exchange.body_end()
            elif instruction is _ADVANCE:
                self._current, self._drained_bytes = None, 0
                self.idle_since = monotonic()
                self._advance()
            else:
                self._perform_rare(instruction)

    def _perform_rare(self, instruction: ClientInstruction) -> None:
        """Perform an instruction that an ordinary request does not need."""
        if instruction is ClientInstruction.READ_ON:
            self._balance()
        elif instruction is ClientInstruction.CLOSE:
            self._close()
        elif instruction is ClientInstruction.DROP:
            self.drop()
        elif instruction is ClientInstruction.ABANDON:
            self._abandon()
        else:
            self.reply_data(_UNREADABLE)

    def _abandon(self) -> None:
        exchange, self._exchange, self._current = self._exchange, None, None
        if exchange is not None:
            exchange.gone()

    def _close(self) -> None:
        """Close the connection after what was written."""
        if self._transport is not None:
            self._transport.close()

    def _balance(self) -> None:
        """Pause or resume reading."""
        paused = self._upstream_slow or self._full
        if self._transport is None or paused is self._paused:
            return
        self._paused = paused
        if not self._transport.is_closing():
            (self._transport.pause_reading if paused else self._transport.resume_reading)()
