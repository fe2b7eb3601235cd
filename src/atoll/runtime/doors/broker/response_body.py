"""A response on its way to the client: keys masked, pieces of one read joined, chunks framed."""

from collections.abc import Callable
from typing import Final

from atoll.domain.redaction.literals import Literals
from atoll.domain.redaction.redactor import Redactor
from atoll.runtime.doors.broker.machine.phases import Flush
from atoll.runtime.doors.broker.response import ResponsePlan
from atoll.runtime.stage import Flow

_LAST_CHUNK = b"0\r\n\r\n"
# Python 3.11 finds a member of an enum many times slower than a global.
_COMPLETE: Final = Flush.COMPLETE
_BUFFERED: Final = Flush.BUFFERED


class ResponseBody:
    """The bytes of one response behind its plan. `head` is sent together with the first bytes of
    the body. `keys` are masked in the body. `send` takes the bytes that the client may see."""

    __slots__ = ("_chunked", "_flow", "_head", "_joining", "_keys", "_pieces", "_send",
        "ends_connection",
    )  # fmt: skip

    def __init__(
        self, plan: ResponsePlan, head: bytes, *, keys: Literals, send: Callable[[bytes], None]
    ) -> None:
        self.ends_connection = plan.close
        self._chunked = plan.chunked
        self._head = head
        self._keys = keys
        self._send = send
        self._joining = False
        self._pieces: list[bytes] = []
        self._flow: Flow | None = None

    def feed(self, data: bytes) -> None:
        """Take a piece of the body. `flush` sends the pieces of one read together."""
        self._joining = True
        if self._flow is None:
            # Most responses hold neither a key nor its beginning and need no redactor.
            if not self._keys.touches(data):
                self._pieces.append(data)
                return
            self._flow = Flow(Redactor(self._keys), self._show)
        self._flow.feed(data)

    def flush(self, end: bytes = b"") -> None:
        """Send the bytes that the client may see by now, and `end` behind them."""
        self._joining = False
        pieces, self._pieces = self._pieces, []
        data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._chunked and data:
            data = make_chunk(data)
        head, self._head = self._head, b""
        data = head + data + end
        if data:
            self._send(data)

    def end(self, flush: Flush) -> None:
        """Send the bytes that the end of the exchange asks for, and discard the rest."""
        flow = self._flow
        if flush is _COMPLETE:
            self._joining = True
            if flow is not None:
                flow.end()
            self.flush(_LAST_CHUNK if self._chunked else b"")
        elif flush is _BUFFERED:
            self.flush()
        if flow is not None:
            flow.close()

    def _show(self, data: bytes) -> None:
        """Take masked bytes. Bytes that the redactor held until a timer are sent at once."""
        self._pieces.append(data)
        if not self._joining:
            self.flush()


def make_chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked body (RFC 9112 §7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)
