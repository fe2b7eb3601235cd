"""A client's own connection, handed to the runtime once the control plane let it in.

It is upgraded to a WebSocket already, so nothing but frames passes here. What it may do and
how long it may stay is said by its tether (`runtime.terminals.seat`).
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from aiohttp import WSMessage, WSMsgType

from atoll.runtime.terminals.connection import CLOSE_SECONDS, MAX_FRAME_BYTES
from atoll.wire.attach import ServerMessage, encode
from atoll.wire.ws_frames import (
    CLOSE_TEXT,
    BadStream,
    FrameReader,
    Message,
    Opcode,
    close_frame,
    header,
)

WAITING_BYTES = 64 * 1024
"""How much may wait for a client that takes nothing, besides the frame that fills it."""

UNREAD_MESSAGES = 64
"""With so many messages not looked at yet, no more are read from the client."""

_KINDS = {
    Opcode.BINARY: WSMsgType.BINARY,
    Opcode.PING: WSMsgType.PING,
    Opcode.PONG: WSMsgType.PONG,
}


class HandedConnection(asyncio.Protocol):
    """`runtime.terminals.connection.Link` over a transport of its own."""

    def __init__(self, announce: Callable[[], None]) -> None:
        """`announce` is called when the client has its seat; `open` answers it."""
        self._announce = announce
        self._open = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._reader = FrameReader(MAX_FRAME_BYTES)
        self._messages: deque[WSMessage] = deque()
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._gone = asyncio.Event()
        self._closing = False
        self._over = False

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection can be used."""
        # uvloop's are transports by what they do, and not by their class.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=WAITING_BYTES)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client's."""
        if self._over:
            return
        try:
            for message in self._reader.feed(data):
                self._heard(message)
        except BadStream as error:
            self._end(error.code, str(error))
        if len(self._messages) >= UNREAD_MESSAGES:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        """The client takes nothing."""
        self._room.clear()

    def resume_writing(self) -> None:
        """It takes something again."""
        self._room.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing comes and nothing goes any more."""
        self._closing = self._over = True
        self._gone.set()
        self._open.set()
        self._room.set()
        self._news.set()

    # The terminal's side.

    @property
    def closed(self) -> bool:
        """Whether either side has closed it."""
        return self._closing

    def open(self) -> None:
        """The client knows that this is a WebSocket."""
        self._open.set()

    async def opened(self) -> None:
        """Say that the client has its seat, and wait until it knows. Raises `ConnectionError`."""
        self._announce()
        await self._open.wait()
        if self._closing:
            raise ConnectionResetError("the client is gone")

    async def tell(self, message: ServerMessage) -> None:
        """Send a text frame."""
        await self._send(Opcode.TEXT, encode(message).encode())

    async def send_text(self, text: str) -> None:
        """Send a text frame that is JSON already."""
        await self._send(Opcode.TEXT, text.encode())

    async def send(self, data: bytes) -> None:
        """Send a binary frame; waits while the peer takes nothing."""
        await self._send(Opcode.BINARY, data)

    async def ping(self) -> None:
        """Ask for a pong."""
        await self._send(Opcode.PING, b"")

    async def pong(self, data: bytes) -> None:
        """Answer a ping."""
        await self._send(Opcode.PONG, data)

    async def receive(self) -> WSMessage | None:
        """The next frame; None once the connection is over."""
        while not self._messages:
            if self._over:
                return None
            self._news.clear()
            await self._news.wait()
        message = self._messages.popleft()
        if len(self._messages) == UNREAD_MESSAGES // 2 and not self._over:
            self._transport.resume_reading()
        return message

    async def close(self, code: int, reason: str) -> None:
        """Close politely; break the connection when that takes too long."""
        if not self._open.is_set():
            # Nothing may be said on it yet.
            self._closing = True
            self._transport.abort()
        elif not self._closing:
            self._closing = True
            self._transport.write(close_frame(code, reason))
            # Unread input must not keep the client's own close from being heard.
            self._messages.clear()
            self._transport.resume_reading()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._gone.wait()
        except TimeoutError:
            self._transport.abort()

    async def _send(self, opcode: Opcode, data: bytes) -> None:
        if self._closing:
            raise ConnectionResetError("the client is gone")
        self._transport.writelines((header(opcode, len(data)), data))
        if not self._room.is_set():
            await self._room.wait()
            if self._over:
                raise ConnectionResetError("the client is gone")

    def _heard(self, message: Message) -> None:
        if self._over:
            return
        match message.opcode:
            case Opcode.CLOSE:
                code = int.from_bytes(message.data[:2], "big") if len(message.data) > 1 else 1000
                self._end(code, "")
            case Opcode.TEXT:
                self._push(WSMessage(WSMsgType.TEXT, _text(message.data), None))
            case opcode:
                if not self._closing:
                    self._push(WSMessage(_KINDS[opcode], message.data, None))

    def _push(self, message: WSMessage) -> None:
        self._messages.append(message)
        self._news.set()

    def _end(self, code: int, reason: str) -> None:
        """The client said good-bye or makes no sense: answer once, and let go."""
        if self._open.is_set() and not self._closing:
            self._transport.write(close_frame(code, reason))
        self._closing = self._over = True
        self._news.set()
        self._transport.close()
        # A client that takes nothing would keep the last frame waiting for ever.
        self._loop.call_later(CLOSE_SECONDS, self._transport.abort)


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadStream(CLOSE_TEXT, "a text frame is not UTF-8") from None
