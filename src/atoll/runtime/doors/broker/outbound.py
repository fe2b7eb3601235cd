"""Connection to an upstream: bytes to answers, one exchange at a time.

Strict (llhttp), so that an answer can be read in one way only. It knows no keys or rules:
`exchange.Exchange` receives the answer.
"""

import asyncio
from time import monotonic
from typing import Protocol, cast

import httptools

from atoll.domain.broker.passage import Origin

MAX_HEAD_BYTES = 64 * 1024
SWITCHING = 101


class ResponseHandler(Protocol):
    """Receiver of an answer; `said` holds the names and values of its headers in turns."""

    def answer_head(self, status: int, reason: bytes, said: list[bytes]) -> None: ...
    def answer_body(self, data: bytes) -> None: ...
    def answer_end(self) -> None: ...
    def answer_raw(self, data: bytes) -> None: ...
    def answer_pause(self) -> None: ...
    def answer_lost(self, why: str) -> None: ...
    def asking_paused(self, paused: bool) -> None: ...


class Outbound(asyncio.Protocol):
    """Connection to an upstream. `hearer` is None while it is idle; `usable` says whether it may
    carry another request."""

    def __init__(self, origin: Origin) -> None:
        self.origin = origin
        self.hearer: ResponseHandler | None = None
        self.heard_at = monotonic()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._raw = self._paused = False
        self._bodyless = False
        self._ended = True
        self._keep = True
        self._said: list[bytes] = []
        self._reason = b""
        self._headed = self._by_end = False
        self._unheaded = 0

    @property
    def usable(self) -> bool:
        """Idle, open, and the last answer ended as both sides agree."""
        return self._ended and self._keep and self.hearer is None and self._open

    @property
    def _open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def begin(self, hearer: ResponseHandler, *, bodyless: bool) -> None:
        """Begin an answer for `hearer`; its request follows. `bodyless` is a HEAD."""
        self.hearer, self._bodyless, self._ended, self._raw = hearer, bodyless, False, False
        if self._parser is None:
            self._parser = httptools.HttpResponseParser(self)
        self._begin()
        self.heard_at = monotonic()
        self.pause(False)

    def send(self, data: bytes) -> None:
        """Send more of the request, framed already."""
        if self._transport is not None:
            self._transport.write(data)

    def close(self) -> None:
        """Hang up, and report it to nobody."""
        self.hearer = None
        if self._transport is not None:
            self._transport.abort()

    def pause(self, paused: bool) -> None:
        """Stop or go on reading the answer."""
        if self._transport is not None and paused is not self._paused and self._open:
            self._paused = paused
            (self._transport.pause_reading if paused else self._transport.resume_reading)()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Open the connection."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a body without a length, or report a broken answer."""
        self._transport = None
        hearer, self.hearer = self.hearer, None
        if hearer is None:
            return
        if exc is None and (self._raw or (self._headed and self._by_end)):
            hearer.answer_end()
        else:
            hearer.answer_lost(type(exc).__name__ if exc else "it hung up")

    def data_received(self, data: bytes) -> None:
        """Take an answer apart; what is said unasked ends the connection."""
        hearer = self.hearer
        if hearer is None or self._parser is None:
            self.close()
            return
        self.heard_at = monotonic()
        if self._raw:
            hearer.answer_raw(data)
            return
        self._unheaded += 0 if self._headed else len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as switch:
            if self._raw and len(data) > switch.args[0]:
                hearer.answer_raw(data[switch.args[0] :])
        except httptools.HttpParserError:
            self._keep = False
            if not self._ended:
                self._fail("its answer cannot be read")
        if self._unheaded > MAX_HEAD_BYTES and not self._headed:
            self._fail("its answer's head is too long")
        self._tell(hearer)

    def _tell(self, hearer: ResponseHandler) -> None:
        """Report after a read, never from within the parser: the receiver may start a request."""
        if self.hearer is not hearer:
            return
        if not self._ended:
            hearer.answer_pause()
            return
        self.hearer = None
        hearer.answer_end()

    def pause_writing(self) -> None:
        """Pause the request: the upstream reads too slowly."""
        if self.hearer is not None:
            self.hearer.asking_paused(True)

    def resume_writing(self) -> None:
        """Resume the request: the upstream caught up."""
        if self.hearer is not None:
            self.hearer.asking_paused(False)

    def on_message_begin(self) -> None:
        """Begin an answer; one without a request makes all that follows doubtful."""
        if self._ended:
            self._keep = False

    def on_status(self, status: bytes) -> None:
        """Add a piece of the reason phrase."""
        self._reason += status

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are not kept."""
        if not self._headed:
            self._said += (name, value)

    def on_headers_complete(self) -> None:
        """Pass a whole head on. Interim answers (RFC 9110 §15.2) are skipped."""
        if self._parser is None or self._ended:
            return
        status = self._parser.get_status_code()
        if status < 200 and status != SWITCHING:
            self._said, self._reason = [], b""
            return
        self._headed, self._raw = True, status == SWITCHING
        names = [name.lower() for name in self._said[0::2]]
        self._by_end = not (b"content-length" in names or b"transfer-encoding" in names)
        self._keep = self._parser.should_keep_alive() and not self._by_end
        if self.hearer is not None:
            self.hearer.answer_head(status, self._reason, self._said)
        if self._bodyless and not self._raw:
            self._end(keep=False)

    def on_body(self, data: bytes) -> None:
        """Pass a piece of the body on, out of its chunks."""
        if self.hearer is not None and not self._ended:
            self.hearer.answer_body(data)

    def on_message_complete(self) -> None:
        """End the answer."""
        if self._headed and not self._raw:
            self._end(keep=self._keep or self._unbodied())

    def _unbodied(self) -> bool:
        """Report whether the answer ends with its head: 204 and 304 do, whatever it says about
        lengths."""
        return self._parser is not None and self._parser.get_status_code() in (204, 304)

    def _begin(self) -> None:
        self._said, self._reason = [], b""
        self._headed = self._by_end = False
        self._unheaded = 0

    def _end(self, *, keep: bool) -> None:
        if not self._ended:
            self._ended, self._keep = True, keep

    def _fail(self, why: str) -> None:
        hearer = self.hearer
        self._keep = False
        self.close()
        if hearer is not None:
            hearer.answer_lost(why)
