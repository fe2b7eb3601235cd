"""A request of the door's own to the endpoint of tools, and its response.

It goes the way of every request at the broker door: routed under the policy in force, admitted,
recorded, waited for while the control plane is away, and sent once. A response of events passes
its messages as they come; any other is kept whole.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from atoll.domain.broker.passage import OwnAnswer, Refusal
from atoll.runtime.doors.broker.exchange import Exchange, Requester
from atoll.runtime.doors.broker.request import BrokerRequest, RequestShape
from atoll.wire.http.server_sent import ServerSentLines
from atoll.wire.mcp.lines import MAX_LINE_BYTES, LineMark, LineReader

Begin = Callable[[BrokerRequest, Requester], Exchange | Refusal | OwnAnswer]
"""Starts the exchange of a request, which may have ended when this returns."""

Fields = tuple[tuple[str, str], ...]
"""Header names and values."""

Received = Callable[[str, bytes], None]
"""Called with each message of an event stream: the id of the event, and its data."""

_STREAM: Final = "text/event-stream"
_TOO_LONG = Refusal(502, "bad_answer", f"the answer is longer than {MAX_LINE_BYTES} bytes")
_LOST = Refusal(502, "upstream_unreachable", "the answer broke off")


@dataclass(frozen=True, slots=True)
class Reply:
    """A response: its status and session, and its body unless it was a stream. `refusal` is the
    door's own response in place of one."""

    status: int
    session: str = ""
    body: bytes = b""
    refusal: Refusal | None = None


class OwnRequest:
    """A request without a client's connection: the `Requester` of its own exchange.

    The response comes unframed, as for a client of HTTP/1.0, so its bytes are the body's.
    """

    def __init__(self, received: Received | None = None) -> None:
        self._received = received
        self._exchange: Exchange | None = None
        self._done: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._status, self._session = 0, ""
        self._streams = self._paused = False
        self._body: list[bytes] = []
        self._size = 0
        self._lines = LineReader()
        self._events = ServerSentLines(longest=MAX_LINE_BYTES)

    async def answered(
        self, begin: Begin, method: str, target: str, *, fields: Fields, body: bytes = b""
    ) -> Reply:
        """Send the request and return its response. A cancelled one is cut."""
        begun = begin(_make_request(method, target, fields, len(body)), self)
        if isinstance(begun, Refusal):
            return Reply(begun.status, refusal=begun)
        if isinstance(begun, OwnAnswer):
            raise TypeError("the endpoint of tools has no answer of the door's own")
        self._exchange = begun
        try:
            if body:
                begun.body(body)
            begun.body_end()
            begun.asked()
            return await self._done
        finally:
            if not begun.ended:
                begun.gone()

    def pause(self, paused: bool) -> None:
        """Pause or resume the response, as fast as its messages are taken."""
        self._paused = paused
        if self._exchange is not None:
            self._exchange.answer_hold(paused)

    # The exchange's side.

    def reply(self, refusal: Refusal) -> None:
        """End with a response of the door's own."""
        self._end(Reply(refusal.status, refusal=refusal))

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        """Read the head of the response. None of it belongs to the body."""
        del raw
        first, *lines = head.decode("latin-1").split("\r\n")
        split = [line.partition(":") for line in lines]
        fields = {name.lower(): value.strip() for name, _, value in split}
        self._status = int(first.split(" ")[1])
        self._session = fields.get("mcp-session-id", "")
        kind = fields.get("content-type", "").partition(";")[0].strip().lower()
        self._streams = kind == _STREAM and self._received is not None
        if self._paused:
            self.pause(True)
        return b""

    def reply_data(self, data: bytes) -> None:
        """Take bytes of the body."""
        if self._done.done():
            return
        if self._streams:
            self._pass(data)
            return
        self._size += len(data)
        if self._size > MAX_LINE_BYTES:
            self._end(Reply(_TOO_LONG.status, refusal=_TOO_LONG))
            return
        self._body.append(data)

    def reply_end(self, *, close: bool) -> None:
        """End a whole response."""
        del close
        self._end(Reply(self._status, self._session, b"".join(self._body)))

    def drop(self) -> None:
        """End a response that broke off. A stream ends so whenever its server does."""
        whole = Reply(self._status, self._session)
        self._end(whole if self._streams else Reply(_LOST.status, refusal=_LOST))

    def hold(self, paused: bool) -> None:
        """Do nothing: the body is in memory already, and bounded."""

    def _pass(self, data: bytes) -> None:
        self._lines.feed(data)
        while (line := self._lines.take()) is not None:
            event = None if isinstance(line, LineMark) else self._events.read(line)
            if event is not None and self._received is not None:
                self._received(event.place, event.data)

    def _end(self, reply: Reply) -> None:
        if not self._done.done():
            self._done.set_result(reply)


def _make_request(method: str, target: str, fields: Fields, length: int) -> BrokerRequest:
    shape = RequestShape(
        method=method,
        target=target,
        names=tuple([name for name, _ in fields]),
        chunked=False,
        keep_alive=False,
        http11=False,
        expects=False,
    )
    return BrokerRequest(shape, [value.encode("latin-1") for _, value in fields], length)
