"""A reader of requests: bytes in, events out, without sockets.

Strict (llhttp): bytes that could be read in two ways are unreadable, and nothing behind them is
parsed. This module knows no keys and no rules.
"""

from enum import Enum
from typing import Final

import httptools

from atoll.runtime.doors.broker.request import MAX_HEAD_BYTES, BrokerRequest, RequestShapes

SLICE_BYTES = 4 * 1024
"""Bytes to feed at once, or the rest of a body when that is longer. The parser cannot be stopped
within a slice, so up to this many bytes of requests are parsed beyond the limits on waiting
requests."""


class RequestMark(Enum):
    """An event without content."""

    COMPLETE = "the newest request is complete"
    UNREADABLE = "the input is malformed or ambiguous, and no further request follows"
    UPGRADE = "the newest head asks for another protocol, and no further request follows"
    RUSHED_UPGRADE = "the same, and bytes of that protocol follow its head at once"


RequestEvent = BrokerRequest | bytes | RequestMark
"""A new request, a piece of the newest request's body out of its chunks, or a mark."""


class _Part(Enum):
    START = "between requests"
    HEAD = "in a head"
    BODY = "in a body"
    CLOSED = "behind the last readable byte"


# Python 3.11 finds a member of an enum many times slower than a global.
_START: Final = _Part.START
_HEAD: Final = _Part.HEAD
_BODY: Final = _Part.BODY
_CLOSED: Final = _Part.CLOSED
_COMPLETE: Final = RequestMark.COMPLETE


class RequestReader:
    """The parser of one connection's requests. `body_left` bytes of a sized body are to come."""

    __slots__ = (
        "_events", "_fields", "_head_bytes", "_parser", "_part", "_shapes", "_url", "body_left",
    )  # fmt: skip

    def __init__(self, shapes: RequestShapes) -> None:
        self._shapes = shapes
        self._parser = httptools.HttpRequestParser(self)
        self._part = _START
        self._events: list[RequestEvent] = []
        self._fields: list[bytes] = []
        self._url = b""
        self._head_bytes = self.body_left = 0

    def feed(self, data: bytes) -> list[RequestEvent]:
        """Return the events of these bytes, in order."""
        events = self._events = []
        if self._part is _START or self._part is _HEAD:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._part = _CLOSED
            rushed = len(data) > upgrade.args[0]
            events.append(RequestMark.RUSHED_UPGRADE if rushed else RequestMark.UPGRADE)
        except httptools.HttpParserError:
            self._close()
        if self._part is _HEAD and self._head_bytes > MAX_HEAD_BYTES:
            self._close()
        return events

    def on_message_begin(self) -> None:
        """Begin a head."""
        if self._part is not _CLOSED:
            self._url, self._fields, self._part = b"", [], _HEAD

    def on_url(self, url: bytes) -> None:
        """Take a piece of the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; trailers are not kept."""
        if self._part is _HEAD:
            self._fields += (name, value)

    def on_headers_complete(self) -> None:
        """Make the request of a complete head."""
        if self._part is _CLOSED:
            return
        request = self._shapes.request(self._parser, self._url, self._fields)
        if request is None:
            self._close()
            return
        self._part, self._head_bytes = _BODY, 0
        self.body_left = request.length or 0
        self._events.append(request)

    def on_body(self, data: bytes) -> None:
        """Take a piece of a body."""
        if self._part is _BODY:
            self.body_left -= len(data)
            self._events.append(data)

    def on_message_complete(self) -> None:
        """End the newest request."""
        if self._part is _BODY:
            self._part = _START
            self._events.append(_COMPLETE)

    def _close(self) -> None:
        if self._part is not _CLOSED:
            self._part = _CLOSED
            self._events.append(RequestMark.UNREADABLE)
