"""A client's session with the tools of the control plane, for a client that speaks by lines.

Messages go out by Streamable HTTP; what comes back is written as lines. A session that the control
plane does not know any more is begun anew, with the client's own words, and the request that found
it lost, which was refused, is sent again. The client does not see that.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, Final

from atoll.runtime.doors.broker.tools.own_request import Begin, Fields, OwnRequest, Reply
from atoll.wire.mcp.messages import (
    TRANSPORT_ERROR,
    Malformed,
    Message,
    error_line,
    header_text,
    is_value,
    one_line,
    read_error,
    read_message,
    read_version,
    request_line,
)

RETRY_SECONDS = 1.0
"""The pause before a standing stream is opened again."""

MAX_WATCHED: Final = 100
"""The URIs that are watched anew in a new session, as many as the control plane admits in one."""

_LOST: Final = 404
_OK: Final = 200
_REFUSED: Final = frozenset({400, 401, 403, 405, 406})

Spawn = Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]]
"""Starts a task that ends with the client's connection."""


class ToolSession:
    """The session behind one client. `write` takes a line for it, without its end."""

    def __init__(
        self, begin: Begin, target: str, *, write: Callable[[bytes], None], spawn: Spawn
    ) -> None:
        self._begin = begin
        self._target = target
        self._write = write
        self._spawn = spawn
        self._id = self._version = self._place = ""
        self._opening: Message | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._watched: dict[str, None] = {}
        self._following = False
        self._streams: set[OwnRequest] = set()
        self._paused = False

    async def answer(self, message: Message) -> None:
        """Send a message of the client and write what is answered."""
        answered = _Answered(message.id)
        session = self._id
        reply = await self._send(message, answered)
        if reply.status == _LOST and reply.refusal is None and self._needs_session_id(message):
            await self._renew(session)
            if self._id != session:
                reply = await self._send(message, answered)
        if message.method == "initialize" and reply.status == _OK:
            self._begin_session(message, reply)
        elif reply.status == _OK and read_error(reply.body, None) is None:
            self._note_watched(message)
        if message.id is not None and not answered.done:
            self._write(_line_of(message.id, reply))

    def pause(self, paused: bool) -> None:
        """Pause or resume what comes by streams."""
        self._paused = paused
        for stream in self._streams:
            stream.pause(paused)

    def _needs_session_id(self, message: Message) -> bool:
        """Report whether a message belongs to a session that is there already."""
        return bool(self._id) and message.method != "initialize" and not message.version

    async def _send(self, message: Message, answered: "_Answered") -> Reply:
        def write_answer(place: str, data: bytes) -> None:
            del place
            self._write(one_line(data))
            answered.saw(data)

        return await self._request("POST", tuple(self._fields(message)), message.line, write_answer)

    async def _request(
        self, method: str, fields: Fields, body: bytes, received: Callable[[str, bytes], None]
    ) -> Reply:
        request = OwnRequest(received)
        request.pause(self._paused)
        self._streams.add(request)
        try:
            return await request.answered(
                self._begin, method, self._target, fields=fields, body=body
            )
        finally:
            self._streams.discard(request)

    def _fields(self, message: Message) -> Iterator[tuple[str, str]]:
        yield "Content-Type", "application/json"
        yield "Accept", "application/json, text/event-stream"
        if message.version:
            yield "MCP-Protocol-Version", message.version
            yield "Mcp-Method", message.method
            name = header_text(message.name)
            if name:
                yield "Mcp-Name", name
        elif self._needs_session_id(message):
            yield from self._own_fields()

    def _own_fields(self) -> Iterator[tuple[str, str]]:
        yield "Mcp-Session-Id", self._id
        if self._version:
            yield "MCP-Protocol-Version", self._version

    def _begin_session(self, message: Message, reply: Reply) -> None:
        """Store the session that the answer to a handshake names."""
        version = read_version(reply.body)
        if version and is_value(reply.session):
            self._opening, self._id, self._version = message, reply.session, version

    async def _renew(self, lost: str) -> None:
        """Have a new session in place of a lost one: the first to find it lost asks for it."""
        if self._id == lost and self._renewal is None:
            self._renewal = self._spawn(self._begin_anew(), "new tool session")
        if self._renewal is not None:
            await asyncio.wait({self._renewal})

    async def _begin_anew(self) -> None:
        try:
            opening = self._opening
            reply = await self._exchange(opening) if opening is not None else Reply(_LOST)
            if opening is None or reply.status != _OK:
                return
            self._begin_session(opening, reply)
            await self._exchange(Message(request_line(None, "notifications/initialized", {})))
            for uri in self._watched:
                line = request_line(b'"atoll"', "resources/subscribe", {"uri": uri})
                await self._exchange(Message(line, method="resources/subscribe"))
        finally:
            self._renewal = None

    async def _exchange(self, message: Message) -> Reply:
        """Send a message whose answer the client does not see."""
        fields = tuple(self._fields(message))
        return await OwnRequest().answered(
            self._begin, "POST", self._target, fields=fields, body=message.line
        )

    # The standing stream.

    def _note_watched(self, message: Message) -> None:
        """Follow the session's stream once something is watched by it."""
        if not self._needs_session_id(message) or not message.uri:
            return
        if message.method == "resources/unsubscribe":
            self._watched.pop(message.uri, None)
        elif message.method == "resources/subscribe" and len(self._watched) < MAX_WATCHED:
            self._watched[message.uri] = None
            if not self._following:
                self._following = True
                self._spawn(self._follow(), "stream of a tool session")

    async def _follow(self) -> None:
        try:
            while self._watched:
                session = self._id
                reply = await self._request(
                    "GET", tuple(self._stream_fields()), b"", self._write_change
                )
                if reply.status == _LOST and reply.refusal is None:
                    await self._renew(session)
                elif reply.status in _REFUSED:
                    return
                await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._following = False

    def _stream_fields(self) -> Iterator[tuple[str, str]]:
        yield "Accept", "text/event-stream"
        yield from self._own_fields()
        if is_value(self._place):
            yield "Last-Event-ID", self._place

    def _write_change(self, place: str, data: bytes) -> None:
        """Write a message of the server's own stream, and note its place there."""
        self._place = place
        self._write(one_line(data))


class _Answered:
    """A mark that a stream has brought the answer to a request."""

    def __init__(self, number: bytes | None) -> None:
        self._number = number
        self.done = False

    def saw(self, data: bytes) -> None:
        message = read_message(data)
        if not isinstance(message, Malformed) and not message.method and message.id == self._number:
            self.done = True


def _line_of(number: bytes, reply: Reply) -> bytes:
    """Return the answer to a request, or the error in place of one."""
    if reply.refusal is not None:
        details = {"code": reply.refusal.error}
        return error_line(number, TRANSPORT_ERROR, reply.refusal.message, details)
    if reply.status == _OK and reply.body:
        return one_line(reply.body)
    error = read_error(reply.body, number)
    if error is not None:
        return one_line(error)
    if reply.status == _OK:
        details = {"code": "upstream_unreachable"}
        return error_line(number, TRANSPORT_ERROR, "the answer broke off", details)
    message = f"the control plane answered with status {reply.status}"
    return error_line(number, TRANSPORT_ERROR, message, {"code": f"status_{reply.status}"})
