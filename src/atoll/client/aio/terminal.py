"""An attached terminal: its output as it comes, and what is typed into it.

The connection comes back by itself and continues at the next byte, so a program reads every byte
once while the terminal's ring still holds it; a `Resync` names what it no longer holds.
"""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, Self

import aiohttp

from atoll.client.aio.connection import Connection
from atoll.client.transport import api_path
from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    NotFound,
    Unauthenticated,
    Unavailable,
)
from atoll.wire.attach import (
    Ack,
    BadFrame,
    ClientMessage,
    Exited,
    GrantControl,
    InputTaken,
    RequestControl,
    Resize,
    Resync,
    RevokeControl,
    ServerMessage,
    Start,
    UnknownKind,
    decode_server,
    encode,
)

SILENCE_SECONDS: Final = 18.0
"""The server sends a heartbeat every 5 s or oftener; after this silence the line is dead."""
PATIENCE_SECONDS: Final = 120.0
"""The longest time without a connection before `Unavailable` is raised."""
STUCK_SECONDS: Final = 10.0
FRAME_BYTES: Final = 16 * 1024
NORMAL, SUPERSEDED, TOO_LONG, BROKEN, NO_TEXT = 1000, 4000, 1009, 1002, 1007

_ENDED: Final[dict[int, tuple[type[AtollError], str]]] = {
    4000: (Conflict, "another client attached under the same id"),
    4401: (Unauthenticated, "the credential ended: log in again, or make another token"),
    4403: (Forbidden, "the attach was refused"),
    4404: (NotFound, "there is no such terminal"),
    4409: (Conflict, "the sandbox does not run"),
    4410: (Conflict, "the sandbox ended"),
    1002: (Failed, "a frame broke the protocol"),
    1007: (Failed, "a text frame is no UTF-8"),
    1009: (Failed, "a frame is too long"),
}
"""Close codes after which attaching again is of no use."""


class AttachedTerminal:
    """A terminal that this program is attached to. Iterate it: `bytes` are output, everything else
    is a message of `atoll.wire.attach`. `offset` is the place of the next byte, `exited` how the
    program in it ended."""

    def __init__(self, connection: Connection, path: str, query: dict[str, str]) -> None:
        self._connection = connection
        self._path = path
        self._query = {"client": uuid.uuid4().hex, "heartbeat": "true", **query}
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._window = _Window()
        self._ack_every = self._ack_at = 0
        self.offset = int(query.get("since", 0))
        self.exited: Exited | None = None

    def __aiter__(self) -> Self:
        """Return itself: there is one place in the output."""
        return self

    async def __anext__(self) -> bytes | ServerMessage:
        """Return the next piece of output or message. Raises `NotFound`, `Conflict` or
        `Unauthenticated` when the terminal can no longer be attached to, `Unavailable` after two
        minutes without a connection."""
        await self._acknowledge()
        while True:
            frame = await self._frame()
            if isinstance(frame, bytes):
                self.offset += len(frame)
                return frame
            if frame is None:
                raise StopAsyncIteration
            with suppress(UnknownKind):
                message = self._decode(frame)
                self._take(message)
                return message

    async def read_until(self, marker: bytes) -> bytes:
        """Return the output up to and with `marker`, or to the end of the program. The rest of the
        last piece is part of what is returned."""
        output = bytearray()
        async for piece in self:
            if isinstance(piece, bytes):
                output += piece
                if marker in output:
                    break
        return bytes(output)

    async def write(self, data: bytes) -> None:
        """Type. Waits while the program takes nothing; the terminal must be read meanwhile. Raises
        `Unavailable` where the connection is away or nothing is taken for ten seconds."""
        # Before the keys: a driver that has acknowledged nothing may lose what they cause.
        await self._acknowledge()
        for start in range(0, len(data), FRAME_BYTES):
            piece = data[start : start + FRAME_BYTES]
            await self._window.reserve(len(piece))
            await self._send(piece)

    async def resize(self, cols: int, rows: int) -> None:
        """Set the size; it applies while this client drives."""
        await self._say(Resize(cols, rows))

    async def request_control(self) -> None:
        """Request to drive; a `ControlState` says when that is granted."""
        await self._say(RequestControl())

    async def grant_control(self, to: str | None = None) -> None:
        """Give control to a principal or client, or to who has waited longest."""
        await self._say(GrantControl(to))

    async def release_control(self) -> None:
        """Release control, or as an owner take it back."""
        await self._say(RevokeControl())

    async def close(self) -> None:
        """Detach; the terminal goes on."""
        if self._socket is not None:
            await self._socket.close()
        self._socket = None

    async def attach(self) -> None:
        """Attach, or attach again at the next byte. Raises what a request raises."""
        query = {**self._query, "since": str(self.offset)} if self._has_begun else self._query
        self._window = _Window()
        self._socket = await self._connection.socket(self._path, query)

    @property
    def _has_begun(self) -> bool:
        return self._ack_every > 0

    async def _frame(self) -> bytes | str | None:
        while True:
            if self._socket is None:
                await self._reattach()
                continue
            frame = await self._receive(self._socket)
            if frame is not None:
                return frame
            code, self._socket = self._socket.close_code or 0, None
            if code == NORMAL and self.exited is not None:
                return None
            if code in _ENDED:
                kind, why = _ENDED[code]
                raise kind(f"the terminal was detached: {why}")

    async def _receive(self, socket: aiohttp.ClientWebSocketResponse) -> bytes | str | None:
        try:
            message = await socket.receive(timeout=SILENCE_SECONDS)
        except (TimeoutError, aiohttp.ClientError, OSError):
            await socket.close()
            return None
        if message.type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
            content: bytes | str = message.data
            return content
        return None

    async def _reattach(self) -> None:
        pause = 0.1
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while self._socket is None:
                    with suppress(Unavailable):
                        await self.attach()
                        return
                    await asyncio.sleep(pause * random.uniform(0.7, 1.3))  # noqa: S311 (spreads)
                    pause = min(pause * 2, 5.0)
        except TimeoutError as error:
            raise Unavailable("the terminal cannot be reached: attach again later") from error

    def _decode(self, frame: str) -> ServerMessage:
        try:
            return decode_server(frame)
        except UnknownKind:
            raise
        except BadFrame as error:
            raise Failed(f"the server sent a frame that is none of ours: {error}") from error

    def _take(self, message: ServerMessage) -> None:
        match message:
            case Start():
                self.offset = message.offset
                self._ack_every, self._ack_at = message.ack_every, self.offset + 1
                self._window.begin(message.input_window)
            case Resync():
                self.offset = message.to
                self._ack_at = self.offset + 1
            case InputTaken():
                self._window.record_taken(message.bytes)
            case Exited():
                self.exited = message
            case _:
                pass  # the others change nothing here

    async def _acknowledge(self) -> None:
        """Report what the program has read: the first output at once, then a window at a time. From
        the first report on, a driver that reports nothing more pauses the terminal."""
        if self._has_begun and self.offset >= self._ack_at:
            self._ack_at = self.offset + self._ack_every
            with suppress(Unavailable):
                await self._say(Ack(self.offset))

    async def _say(self, message: ClientMessage) -> None:
        await self._send(encode(message))

    async def _send(self, frame: bytes | str) -> None:
        socket = self._socket
        if socket is None:
            raise Unavailable("the terminal is not connected now: read it, and try again")
        try:
            await (socket.send_str(frame) if isinstance(frame, str) else socket.send_bytes(frame))
        except (aiohttp.ClientError, OSError, RuntimeError) as error:
            raise Unavailable("the connection to the terminal broke: read it, and again") from error


class _Window:
    """Input on its way: never more than the terminal's window."""

    def __init__(self) -> None:
        self._size = self._sent = self._taken = 0
        self._news = asyncio.Event()

    def begin(self, size: int) -> None:
        self._size = size
        self._news.set()

    def record_taken(self, total: int) -> None:
        self._taken = max(self._taken, total)
        self._news.set()

    async def reserve(self, count: int) -> None:
        """Wait until `count` bytes fit, and count them."""
        try:
            async with asyncio.timeout(STUCK_SECONDS):
                while self._size and self._sent + count - self._taken > self._size:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError as error:
            raise Unavailable("the program takes no input", code="input_full") from error
        self._sent += count


@asynccontextmanager
async def open_attachment(
    connection: Connection, name: str, terminal: str, query: dict[str, str]
) -> AsyncIterator[AttachedTerminal]:
    """Attach for the length of a block."""
    path = api_path("sandboxes", name, "terminals", terminal, "attach")
    attachment = AttachedTerminal(connection, path, query)
    await attachment.attach()
    try:
        yield attachment
    finally:
        await attachment.close()
