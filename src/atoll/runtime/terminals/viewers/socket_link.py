"""A socket link: a client's own connection, handed over once the control plane admitted it.

A client joins the terminal before its connection is here. That is upgraded to a WebSocket already,
so nothing but frames passes. What it may do and how long it may stay is decided by its handover
(`runtime.api.handover`). The socket is read and written without a transport between:
a frame is with the kernel when `send` returns.
"""

import asyncio
import socket
from collections.abc import Callable, Sequence
from itertools import islice

from atoll.runtime.terminals.viewers.link import CLOSE_SECONDS, MAX_FRAME_BYTES, OnMessage
from atoll.wire.http.ws_frames import (
    CLOSE_TEXT,
    BadStream,
    FrameReader,
    Message,
    Opcode,
    close_frame,
    header,
)

READ_BYTES = 16 * 1024
MESSAGES = 32
"""So many are looked at in one turn of the loop, so that no client starves the others."""


class SocketLink:
    """`runtime.terminals.viewers.link.Link` over a socket of its own."""

    def __init__(self, announce: Callable[[], None]) -> None:
        """Call `announce` when the client has joined; `take` brings its socket."""
        self._socket: socket.socket
        self._fd = -1
        self._announce = announce
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(MAX_FRAME_BYTES)
        self._unsent = bytearray()
        self._pong: bytes | None = None
        self._open = asyncio.Event()
        self._over = asyncio.Event()
        """Set when nothing can be received any more."""
        self._gone = asyncio.Event()
        """The socket is closed."""
        self._closing = False
        self._patience: asyncio.TimerHandle | None = None
        self.received_at = self._loop.time()
        self._on_message: OnMessage
        self._on_room: Callable[[], None]

    @property
    def closed(self) -> bool:
        """True when either side has closed it."""
        return self._closing

    @property
    def roomy(self) -> bool:
        """True when it is open and nothing waits to be sent."""
        return not (self._unsent or self._closing)

    def take(self, own: socket.socket) -> None:
        """Speak on this socket, whose peer knows that it is a WebSocket."""
        if self._gone.is_set():
            own.close()
            return
        own.setblocking(False)
        if own.family in (socket.AF_INET, socket.AF_INET6):
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket, self._fd = own, own.fileno()
        self._open.set()

    async def opened(self) -> None:
        """Report that the client has joined, and wait for its connection. Raises
        `ConnectionError`."""
        self._announce()
        await self._open.wait()
        if self._closing:
            raise ConnectionResetError("the client is gone")

    def start(self, on_message: OnMessage, on_room: Callable[[], None]) -> None:
        """Read from now on."""
        self._on_message, self._on_room = on_message, on_room
        if not self._gone.is_set():
            self._loop.add_reader(self._fd, self._receive_data)

    def send(self, opcode: Opcode, data: bytes) -> None:
        """Send one frame, as far as the kernel takes it now."""
        if not self._closing:
            self._put((header(opcode, len(data)), data))

    async def run(self) -> None:
        """Wait until nothing can be received any more."""
        await self._over.wait()

    def end(self, code: int, reason: str) -> None:
        """Close politely; break the connection when that takes too long."""
        if self._closing:
            return
        self._closing = True
        if not self._open.is_set():
            # Nobody came yet, and nobody shall.
            self._break()
            return
        self._put((close_frame(code, reason),))
        self._hurry()

    async def close(self, code: int, reason: str) -> None:
        """Call `end`, and wait until the connection is over."""
        self.end(code, reason)
        self._hurry()
        await self._gone.wait()

    # Reading.

    def _receive_data(self) -> None:
        """Receive what the socket has, or break the link when it has ended."""
        try:
            data = self._socket.recv(READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self._break()
            return
        self.received_at = self._loop.time()
        self._hear(data)

    def _hear(self, data: bytes) -> None:
        """Handle some of the messages in it; the others at the next turn, before more is read."""
        try:
            count = 0
            for message in islice(self._reader.feed(data), MESSAGES):
                count += 1
                self._take(message)
                if self._over.is_set():
                    return
        except BadStream as error:
            self._let_go(error.code, str(error))
            return
        if count == MESSAGES:
            self._loop.remove_reader(self._fd)
            self._loop.call_soon(self._hear_more)

    def _hear_more(self) -> None:
        if not self._over.is_set():
            self._loop.add_reader(self._fd, self._receive_data)
            self._hear(b"")

    def _take(self, message: Message) -> None:
        match message.opcode:
            case Opcode.BINARY | Opcode.TEXT:
                if message.opcode is Opcode.TEXT and not _is_text(message.data):
                    raise BadStream(CLOSE_TEXT, "a text frame is not UTF-8")
                if not self._closing:
                    self._on_message(message.opcode, message.data)
            case Opcode.PING if self._unsent:
                # Only the newest has to be answered (RFC 6455 §5.5.3): one waits at most.
                self._pong = message.data
            case Opcode.PING:
                self.send(Opcode.PONG, message.data)
            case Opcode.CLOSE:
                code = int.from_bytes(message.data[:2], "big") if len(message.data) > 1 else 1000
                self._let_go(code, "")
            case Opcode.PONG | Opcode.CONTINUATION:
                pass

    # Writing.

    def _put(self, pieces: Sequence[bytes]) -> None:
        """Give a frame to the kernel; what it does not take waits."""
        if self._unsent:
            for piece in pieces:
                self._unsent += piece
            return
        try:
            count = self._socket.sendmsg(pieces)
        except (BlockingIOError, InterruptedError):
            count = 0
        except OSError:
            self._break()
            return
        if count < sum(map(len, pieces)):
            self._unsent += b"".join(pieces)[count:]
            self._loop.add_writer(self._fd, self._writable)

    def _writable(self) -> None:
        try:
            count = self._socket.send(self._unsent)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._break()
            return
        del self._unsent[:count]
        if self._unsent:
            return
        self._loop.remove_writer(self._fd)
        pong, self._pong = self._pong, None
        if self._over.is_set():
            self._break()
        elif pong is not None:
            self.send(Opcode.PONG, pong)
        if self.roomy:
            self._on_room()

    # The end.

    def _let_go(self, code: int, reason: str) -> None:
        """Answer a client's close frame or invalid frame once, and close."""
        self._over.set()
        self._loop.remove_reader(self._fd)
        if self._open.is_set() and not self._closing:
            self._put((close_frame(code, reason),))
        self._closing = True
        if self._unsent:
            # A client that takes nothing would keep the last frame waiting for ever.
            self._hurry()
        else:
            self._break()

    def _hurry(self) -> None:
        """End soon, whatever the client does."""
        if self._patience is None and not self._gone.is_set():
            self._patience = self._loop.call_later(CLOSE_SECONDS, self._break)

    def _break(self) -> None:
        """Stop all input and output."""
        if self._gone.is_set():
            return
        self._closing = True
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            self._socket.close()
        if self._patience is not None:
            self._patience.cancel()
        self._unsent.clear()
        for event in (self._open, self._over, self._gone):
            event.set()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
