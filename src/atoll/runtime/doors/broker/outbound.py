"""A connection to an upstream: requests out, response events in, one exchange at a time.

`machine.response_reader` parses the bytes. This module moves them and reports its events to the
exchange. Keys and rules are not known here.
"""

import asyncio
from time import monotonic
from typing import Final, Protocol, cast

from atoll.domain.broker.passage import Origin
from atoll.runtime.doors.broker.machine.phases import ResponsePhase
from atoll.runtime.doors.broker.machine.response_reader import ResponseMark, ResponseReader
from atoll.runtime.doors.broker.response import ResponseHead

# Python 3.11 finds a member of an enum many times slower than a global.
_COMPLETE: Final = ResponseMark.COMPLETE
_SWITCHED: Final = ResponsePhase.SWITCHED


class ResponseHandler(Protocol):
    """The receiver of one response."""

    def answer_head(self, head: ResponseHead) -> None: ...
    def answer_body(self, data: bytes) -> None: ...
    def answer_end(self) -> None: ...
    def answer_raw(self, data: bytes) -> None: ...
    def answer_pause(self) -> None: ...
    def answer_lost(self, why: str) -> None: ...
    def asking_paused(self, paused: bool) -> None: ...


class Outbound(asyncio.Protocol):
    """A connection to `origin`. `handler` is None while the connection is idle."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.handler: ResponseHandler | None = None
        self.received_at = monotonic()
        self._transport: asyncio.Transport | None = None
        self._reader: ResponseReader | None = None
        self._paused = False

    @property
    def usable(self) -> bool:
        """True when the connection is open, and idle after a response that both sides saw end."""
        transport, reader = self._transport, self._reader
        if self.handler is not None or transport is None or transport.is_closing():
            return False
        return reader is None or reader.idle

    def begin(self, handler: ResponseHandler, *, bodiless: bool) -> None:
        """Expect a response for `handler`; `bodiless` for a HEAD request."""
        self.handler = handler
        if self._reader is None:
            self._reader = ResponseReader()
        self._reader.begin(bodiless=bodiless)
        self.received_at = monotonic()
        if self._paused:
            self.pause(False)

    def rest(self) -> None:
        """Begin to count how long this connection is idle."""
        self.received_at = monotonic()

    def send(self, data: bytes) -> None:
        """Send framed bytes of the request."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Close the connection without a report to the handler."""
        self.handler = None
        if self._transport is not None:
            self._transport.abort()

    def pause(self, paused: bool) -> None:
        """Pause or resume reading the response."""
        transport = self._transport
        if transport is None or paused is self._paused or transport.is_closing():
            return
        self._paused = paused
        (transport.pause_reading if paused else transport.resume_reading)()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the open transport."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the response: complete when it ends with its connection, broken otherwise."""
        self._transport = None
        handler, self.handler = self.handler, None
        if handler is None or self._reader is None:
            return
        if exc is None and self._reader.ends_with_connection:
            handler.answer_end()
        else:
            handler.answer_lost(type(exc).__name__ if exc else "it hung up")

    def data_received(self, data: bytes) -> None:
        """Parse a response. Bytes without a request end the connection."""
        handler, reader = self.handler, self._reader
        if handler is None or reader is None:
            self.close()
            return
        self.received_at = monotonic()
        if reader.phase is _SWITCHED:
            handler.answer_raw(data)
        else:
            self._read(data, handler, reader)

    def _read(self, data: bytes, handler: ResponseHandler, reader: ResponseReader) -> None:
        for event in reader.feed(data):
            if self.handler is not handler:
                return
            if isinstance(event, bytes):
                (handler.answer_raw if reader.phase is _SWITCHED else handler.answer_body)(event)
            elif event is _COMPLETE:
                self.handler = None
                handler.answer_end()
            elif isinstance(event, ResponseHead):
                handler.answer_head(event)
            else:
                self.close()
                handler.answer_lost(event.value)
        if self.handler is handler:
            handler.answer_pause()

    def pause_writing(self) -> None:
        """Pause a request that the upstream reads too slowly."""
        if self.handler is not None:
            self.handler.asking_paused(True)

    def resume_writing(self) -> None:
        """Resume the request."""
        if self.handler is not None:
            self.handler.asking_paused(False)
