"""The stdio way to the tools: a connection that carries lines of JSON-RPC after an upgrade.

`atoll-mcp` inside pumps an agent's input and output through it. A pipe is bounded: a few requests
and one long line are under way at a time, and nothing is read while they are, or while the client
does not read.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, Final

from atoll.runtime.doors.broker.exchange import Requester
from atoll.runtime.doors.broker.tools.own_request import Begin
from atoll.runtime.doors.broker.tools.session import Spawn, ToolSession
from atoll.wire.mcp.lines import MAX_LINE_BYTES, LineMark, LineReader
from atoll.wire.mcp.messages import (
    INVALID_REQUEST,
    Malformed,
    Message,
    error_line,
    read_message,
)

PROTOCOL: Final = "atoll-mcp"
"""The name of the protocol in the header `Upgrade`."""

MAX_REQUESTS: Final = 8
"""The messages that are under way at a time."""

END_SECONDS = 30.0
"""The longest wait for answers to a client that ended its input: it may be gone altogether."""

_HANDSHAKE: Final = "initialize"
_HEAD: Final = (
    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n"
    % PROTOCOL.encode()
)
_OVERLONG: Final = error_line(
    None, INVALID_REQUEST, f"a line may have {MAX_LINE_BYTES} bytes, and this one was left out"
)


class ToolPipe:
    """A connection with lines. It ends with the client, or once the input of the client has
    ended and all of it is answered."""

    half_closes: ClassVar[bool] = True

    def __init__(self, client: Requester, begin: Begin, target: str, spawn: Spawn) -> None:
        self._client = client
        self._spawn_task = spawn
        self._lines = LineReader()
        self._session = ToolSession(begin, target, write=self._write, spawn=self._spawn)
        self._running: dict[asyncio.Task[None], Message] = {}
        self._others: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._slow = self._input_ended = self._switched = False
        self.ended = False

    # The client's side.

    def asked(self) -> None:
        """Agree to the upgrade."""
        if not self._switched:
            self._switched = True
            self._client.reply_data(self._client.reply_head(_HEAD, raw=True))

    def body(self, data: bytes) -> None:
        """Take nothing: a request for an upgrade has no body."""

    def body_end(self) -> None:
        """Do nothing, for the same reason."""

    def raw(self, data: bytes) -> None:
        """Take bytes of lines."""
        self._lines.feed(data)
        self._advance()

    def input_ended(self) -> None:
        """Answer what came, and end."""
        self._input_ended = True
        self._lines.end()
        self._advance()
        if not self.ended:
            self._spawn(self._expire(), "end of a tool pipe")

    def answer_hold(self, paused: bool) -> None:
        """Pause or resume, as fast as the client reads."""
        self._slow = paused
        self._session.pause(paused)
        self._advance()

    def gone(self) -> None:
        """End with the client."""
        self.ended = True
        for task in (*self._running, *self._others):
            task.cancel()

    # Messages in turn.

    @property
    def _ready(self) -> bool:
        """True when another message may be begun. A handshake comes alone: what follows it needs
        its session."""
        full = len(self._running) >= MAX_REQUESTS or self._under_way > MAX_LINE_BYTES
        opening = any(call.method == _HANDSHAKE for call in self._running.values())
        return not (full or opening or self._slow or self.ended)

    def _advance(self) -> None:
        while self._ready and (line := self._lines.take()) is not None:
            if isinstance(line, LineMark):
                self._write(_OVERLONG)
            elif line:
                self._take(read_message(line))
        if self.ended:
            return
        if self._input_ended and self._ready and not self._running:
            self._end()
        else:
            self._client.hold(not self._ready)

    async def _expire(self) -> None:
        await asyncio.sleep(END_SECONDS)
        self._end()

    def _end(self) -> None:
        if not self.ended:
            self.gone()
            self._client.reply_end(close=True)

    def _take(self, message: Message | Malformed) -> None:
        if isinstance(message, Malformed):
            self._write(message.answer)
            return
        if message.cancels is not None:
            self._cancel(message.cancels)
        self._under_way += len(message.line)
        task = self._spawn_task(self._session.answer(message), "request of a tool pipe")
        self._running[task] = message
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        message = self._running.pop(task)
        self._under_way -= len(message.line)
        self._advance()

    def _cancel(self, number: bytes) -> None:
        for task, message in self._running.items():
            if message.id == number and message.method != _HANDSHAKE:
                task.cancel()

    def _write(self, line: bytes) -> None:
        if not self.ended:
            self._client.reply_data(line + b"\n")

    def _spawn(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        task = self._spawn_task(work, what)
        self._others.add(task)
        task.add_done_callback(self._others.discard)
        return task
