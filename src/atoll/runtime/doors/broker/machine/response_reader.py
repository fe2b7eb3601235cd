"""A reader of an upstream's responses: bytes in, events out, without sockets.

Strict (llhttp), so that a response can be read in one way only. This module knows no keys and no
rules.
"""

from enum import Enum
from typing import Final

import httptools

from atoll.runtime.doors.broker.machine.phases import ResponsePhase
from atoll.runtime.doors.broker.response import ResponseHead

MAX_HEAD_BYTES = 64 * 1024
_SWITCHING = 101
_BODILESS = (204, 304)
"""Responses that end with their head, whatever it says about lengths."""


class ResponseMark(Enum):
    """An event without content: the last one of a response."""

    COMPLETE = "the response is complete"
    UNREADABLE = "its answer cannot be read"
    TOO_LONG = "its answer's head is too long"


ResponseEvent = ResponseHead | bytes | ResponseMark
"""The head of the final response, a piece of its body out of its chunks, or a mark. Behind a head
of status 101, a piece is bytes of another protocol."""


class _Framing(Enum):
    NO_BODY = "the response to HEAD"
    SIZED = "a length or chunks"
    CONNECTION = "ends with the connection"


# Python 3.11 finds a member of an enum many times slower than a global.
_AWAITED: Final = ResponsePhase.AWAITED
_STREAMING: Final = ResponsePhase.STREAMING
_SWITCHED: Final = ResponsePhase.SWITCHED
_ENDED: Final = ResponsePhase.ENDED
_NO_BODY: Final = _Framing.NO_BODY
_SIZED: Final = _Framing.SIZED
_COMPLETE: Final = ResponseMark.COMPLETE


class ResponseReader:
    """The parser of one connection's responses, one for each `begin`. In the `phase` `SWITCHED`
    further bytes belong to another protocol and are not to be fed."""

    __slots__ = (
        "_events", "_fields", "_framing", "_head_bytes", "_parser", "_reason", "_reusable",
        "phase",
    )  # fmt: skip

    def __init__(self) -> None:
        self.phase = _ENDED
        self._reusable = True
        self._parser = httptools.HttpResponseParser(self)
        self._framing = _SIZED
        self._events: list[ResponseEvent] = []
        self._fields: list[bytes] = []
        self._reason = b""
        self._head_bytes = 0

    @property
    def idle(self) -> bool:
        """True when both sides agree that the last response ended and another may follow."""
        return self.phase is _ENDED and self._reusable

    @property
    def ends_with_connection(self) -> bool:
        """True when an orderly end of the connection completes the response."""
        by_end = self.phase is _STREAMING and self._framing is _Framing.CONNECTION
        return by_end or self.phase is _SWITCHED

    def begin(self, *, bodiless: bool) -> None:
        """Expect a response; `bodiless` for a HEAD request."""
        self.phase = _AWAITED
        self._framing = _NO_BODY if bodiless else _SIZED
        self._fields, self._reason, self._head_bytes = [], b"", 0

    def feed(self, data: bytes) -> list[ResponseEvent]:
        """Return the events of these bytes, in order. Only for an expected response."""
        events = self._events = []
        if self.phase is _AWAITED:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self.phase is _SWITCHED and len(data) > upgrade.args[0]:
                events.append(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._reusable = False
            if self.phase is not _ENDED:
                self._break(ResponseMark.UNREADABLE)
                return events
        if self.phase is _ENDED:
            events.append(_COMPLETE)
        elif self.phase is _AWAITED and self._head_bytes > MAX_HEAD_BYTES:
            self._break(ResponseMark.TOO_LONG)
        return events

    def on_message_begin(self) -> None:
        """Begin a response. After an unrequested one the connection is not used again."""
        if self.phase is _ENDED:
            self._reusable = False

    def on_status(self, status: bytes) -> None:
        """Take a piece of the reason phrase."""
        self._reason += status

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are not kept."""
        if self.phase is _AWAITED:
            self._fields += (name, value)

    def on_headers_complete(self) -> None:
        """Take a complete head. Interim responses (RFC 9110 §15.2) are discarded."""
        if self.phase is not _AWAITED:
            return
        status = self._parser.get_status_code()
        if status < 200 and status != _SWITCHING:
            self._fields, self._reason = [], b""
            return
        fields = self._fields
        names = tuple(fields[0::2])
        self._events.append(ResponseHead(status, self._reason, names, fields[1::2]))
        lowered = [name.lower() for name in names]
        sized = b"content-length" in lowered or b"transfer-encoding" in lowered
        self._reusable = self._parser.should_keep_alive() and sized
        if status == _SWITCHING:
            self.phase = _SWITCHED
        elif self._framing is _NO_BODY:
            self.phase, self._reusable = _ENDED, False
        else:
            self.phase = _STREAMING
            if not sized:
                self._framing = _Framing.CONNECTION

    def on_body(self, data: bytes) -> None:
        """Take a piece of the body."""
        if self.phase is _STREAMING:
            self._events.append(data)

    def on_message_complete(self) -> None:
        """End the response."""
        if self.phase is _STREAMING:
            self.phase = _ENDED
            self._reusable = self._reusable or self._parser.get_status_code() in _BODILESS

    def _break(self, mark: ResponseMark) -> None:
        self.phase, self._reusable = _ENDED, False
        self._events.append(mark)
