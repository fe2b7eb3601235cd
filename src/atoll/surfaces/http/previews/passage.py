"""The passage of one request to a server inside a sandbox, over a channel of bytes.

The request is written anew and the answer is read as HTTP/1.1 by h11: nothing that two servers
could read differently gets through, and each request has a connection of its own. Bodies stream
both ways; each side waits for its receiver.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import h11
from starlette.types import Message, Receive, Send

from atoll.domain.errors import AtollError, Failed, Invalid, Unavailable
from atoll.domain.previews.head import Headers, Outside, outer_headers
from atoll.domain.previews.reporter import DocumentWriter, document_headers, takes_reporter
from atoll.ports.runtime import Channel

MAX_HEAD_BYTES: Final = 64 * 1024
ANSWER_SECONDS: Final = 300.0
"""The longest wait for the head of an answer, once the whole request was sent."""

BODY_SECONDS: Final = 60.0
"""The longest wait for more of a request's body."""

NOBODY: Final = 4502
"""The close code of a channel to a port on which nothing listens."""

NOT_LISTENING: Final = "port_not_listening"
_RUBBISH: Final = "the server inside answered with something that is not HTTP/1.1"


@dataclass(frozen=True, slots=True)
class InnerRequest:
    """A request as the server inside receives it."""

    method: str
    target: bytes
    headers: Headers
    outside: Outside
    reports: bool = False
    """The wish that its document has the reporter (`domain.previews.reporter`)."""

    def event(self) -> h11.Request:
        """Return it for h11. Raises `Invalid` for what cannot be written as HTTP/1.1."""
        try:
            return h11.Request(
                method=self.method.encode(), target=self.target, headers=list(self.headers)
            )
        except (h11.LocalProtocolError, UnicodeEncodeError) as error:
            raise Invalid(
                "the head of the request is not HTTP/1.1", code="bad_request_head"
            ) from error


class InnerLine:
    """The client's end of HTTP/1.1 over a channel."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._line = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def send(self, *events: h11.Event) -> None:
        """Send events. Raises `Invalid` for a body that is not as long as its head says."""
        try:
            data = b"".join(filter(None, map(self._line.send, events)))
        except h11.LocalProtocolError as error:
            raise Invalid(
                "the body is not as long as announced", code="bad_request_head"
            ) from error
        if data:
            await self._channel.send(data)

    async def events(self) -> AsyncIterator[h11.Event]:
        """Yield what the server answers, to the end of its answer or its switch to another
        protocol. Raises `Unavailable` when nothing listens at the port, `Failed` for an answer
        that cannot be read, or that breaks off."""
        frames = aiter(self._channel)
        heard = False
        while True:
            try:
                event = self._line.next_event()
            except h11.RemoteProtocolError as error:
                raise Failed(_RUBBISH, code="bad_preview_answer") from error
            if event is h11.NEED_DATA:
                frame = await anext(frames, None)
                if frame is None and not heard:
                    raise self._unheard()
                heard = True
                self._receive(frame)
            elif event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                return
            elif isinstance(event, h11.Event):
                yield event
                if isinstance(event, h11.EndOfMessage):
                    return

    @property
    def rest(self) -> bytes:
        """The bytes after the switch to another protocol."""
        return self._line.trailing_data[0]

    def _receive(self, frame: bytes | str | None) -> None:
        try:
            self._line.receive_data(b"" if frame is None else _as_bytes(frame))
        except h11.RemoteProtocolError as error:
            raise Failed(_RUBBISH, code="bad_preview_answer") from error

    def _unheard(self) -> AtollError:
        if self._channel.close_code == NOBODY:
            return not_listening()
        return Unavailable(
            "the server inside closed the connection without an answer", code="preview_closed"
        )


class Passage:
    """The passage of a request. `run` returns once it is answered or its client is gone."""

    def __init__(
        self, channel: Channel, request: InnerRequest, receive: Receive, send: Send
    ) -> None:
        self._request = request
        self._receive = receive
        self._send = send
        self._line = InnerLine(channel)
        self._answer_by: float | None = None
        self._limit: asyncio.Timeout | None = None

    async def run(self) -> None:
        """Pass the request and its answer. Raises `Invalid`, `Unavailable`, `Failed`."""
        await self._line.send(self._request.event())
        failure: list[AtollError] = []

        async def relay_answer() -> None:
            try:
                await self._pass_answer()
            except AtollError as error:
                failure.append(error)
            up.cancel()

        async def relay_request() -> None:
            try:
                await self._pass_request()
            except AtollError as error:
                failure.append(error)
            down.cancel()

        async with asyncio.TaskGroup() as group:
            up = group.create_task(relay_request())
            down = group.create_task(relay_answer())
        for error in failure[:1]:
            raise error

    async def _pass_request(self) -> None:
        """Send the body; then return once the client is gone."""
        more = True
        while more:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    message = await self._receive()
            except TimeoutError as error:
                raise Invalid("the body came too slowly", code="request_too_slow") from error
            if message["type"] != "http.request":
                return
            more = message.get("more_body", False)
            await self._take(message.get("body", b""), more=more)
        self._expect_answer()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def _take(self, body: bytes, *, more: bool) -> None:
        events: list[h11.Event] = [h11.Data(data=body)] if body else []
        try:
            await self._line.send(*events, *(() if more else (h11.EndOfMessage(),)))
        except Unavailable:
            return  # the server closed early: its answer says why

    async def _pass_answer(self) -> None:
        events = self._line.events()
        head = await self._head(events)
        writer = None
        if self._request.reports and takes_reporter(head.status_code, tuple(head.headers)):
            writer = DocumentWriter()
        await pass_head(self._send, head, self._request.outside, writer)
        await pass_body(self._send, events, writer)

    async def _head(self, events: AsyncIterator[h11.Event]) -> h11.Response:
        """Return the head of the answer; what is informational is passed over."""
        try:
            async with asyncio.timeout_at(self._answer_by) as self._limit:
                async for event in events:
                    if isinstance(event, h11.Response):
                        return event
        except TimeoutError as error:
            raise Unavailable(
                f"the server inside did not answer within {ANSWER_SECONDS:g} s",
                code="preview_silent",
            ) from error
        finally:
            self._limit = None
        raise Failed(_RUBBISH, code="bad_preview_answer")

    def _expect_answer(self) -> None:
        """Note that the whole request was sent: the time for its answer begins."""
        self._answer_by = asyncio.get_running_loop().time() + ANSWER_SECONDS
        if self._limit is not None and not self._limit.expired():
            self._limit.reschedule(self._answer_by)


async def pass_head(
    send: Send, head: h11.Response, outside: Outside, writer: DocumentWriter | None = None
) -> None:
    """Send the head of an answer to the browser; `writer` will write into its body."""
    inner = tuple(head.headers)
    headers = outer_headers(inner if writer is None else document_headers(inner), outside)
    start: Message = {"type": "http.response.start", "status": head.status_code}
    await send({**start, "headers": list(headers)})


async def pass_body(
    send: Send, events: AsyncIterator[h11.Event], writer: DocumentWriter | None = None
) -> None:
    """Send the body of an answer to the browser, as `writer` leaves it. One that breaks off stays
    unfinished, so that the browser is not told that it is whole."""
    try:
        async for event in events:
            if isinstance(event, h11.Data):
                data = bytes(event.data)
                body = data if writer is None else writer.write(data)
                if body:
                    await send({"type": "http.response.body", "body": body, "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                body = b"" if writer is None else writer.end()
                await send({"type": "http.response.body", "body": body, "more_body": False})
    except OSError:
        return  # the browser is gone


def not_listening() -> Unavailable:
    """Return the error of a port on which nothing listens."""
    return Unavailable("nothing listens at this port yet", code="port_not_listening")


def _as_bytes(frame: bytes | str) -> bytes:
    return frame.encode() if isinstance(frame, str) else frame
