"""A viewer's connection over the runtime's own HTTP, with a control plane between.

Such a WebSocket sends by waiting. So frames are queued here, and a task sends them. A viewer
queues none before the last is gone, so few ever wait.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from aiohttp import WSMessage, WSMsgType

from atoll.runtime.terminals.viewers.connection import Connection
from atoll.runtime.terminals.viewers.link import CLOSE_SECONDS, OnMessage
from atoll.wire.http.ws_frames import Opcode

Goodbye = tuple[int, str]


class UpgradedLink:
    """`runtime.terminals.viewers.link.Link` over a `Connection` that was accepted."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[tuple[Opcode, bytes]] = deque()
        self._pong: bytes | None = None
        self._news = asyncio.Event()
        self._quiet = asyncio.Event()
        """Set when nothing more is to be sent or received."""
        self._gone = asyncio.Event()
        self._running = False
        self._goodbye: Goodbye | None = None
        self._patience: asyncio.TimerHandle | None = None
        self.received_at = self._loop.time()
        self._on_message: OnMessage
        self._on_room: Callable[[], None]

    @property
    def closed(self) -> bool:
        """True when either side has closed it."""
        return self._goodbye is not None or self._connection.closed

    @property
    def roomy(self) -> bool:
        """True when it is open and nothing waits to be sent."""
        return not (self._unsent or self.closed)

    async def opened(self) -> None:
        """Report the link as open: it is since it was accepted."""

    def start(self, on_message: OnMessage, on_room: Callable[[], None]) -> None:
        """Begin to call these."""
        self._on_message, self._on_room = on_message, on_room

    def send(self, opcode: Opcode, data: bytes) -> None:
        """Queue one frame; the task in `run` sends it."""
        if not self.closed:
            self._unsent.append((opcode, data))
            self._news.set()

    def end(self, code: int, reason: str) -> None:
        """Close politely after what waits, in `run`; break the connection when it takes long."""
        if self._goodbye is None:
            self._goodbye = code, reason
            self._patience = self._loop.call_later(CLOSE_SECONDS, self._connection.abort)
            self._news.set()

    async def close(self, code: int, reason: str) -> None:
        """Call `end`, and wait until the connection is over."""
        self.end(code, reason)
        if self._running:
            await self._gone.wait()
        else:
            await self._connection.close(code, reason)

    async def run(self) -> None:
        """Send queued frames and receive messages, until the connection ends."""
        self._running = True
        try:
            async with asyncio.TaskGroup() as group:
                work = [group.create_task(part) for part in (self._carry(), self._hear())]
                await self._quiet.wait()
                # Nobody may wait for a message now: the client's answer to the close is one.
                for task in work:
                    task.cancel()
            if self._goodbye is not None:
                await self._connection.close(*self._goodbye)
        finally:
            self._gone.set()
            if self._patience is not None:
                self._patience.cancel()

    async def _hear(self) -> None:
        while (message := await self._connection.receive()) is not None:
            self.received_at = self._loop.time()
            self._take(message)
        self._quiet.set()

    async def _carry(self) -> None:
        try:
            while self._goodbye is None or self._unsent:
                if self._unsent:
                    await self._send_one()
                else:
                    self._news.clear()
                    await self._news.wait()
        except ConnectionError:
            # `_hear` sees it, too, and ends this.
            return
        self._quiet.set()

    async def _send_one(self) -> None:
        opcode, data = self._unsent[0]
        match opcode:
            case Opcode.TEXT:
                await self._connection.send_text(data.decode())
            case Opcode.PING:
                await self._connection.ping()
            case Opcode.PONG:
                await self._connection.pong(data)
            case Opcode.BINARY | Opcode.CONTINUATION | Opcode.CLOSE:
                await self._connection.send(data)
        self._unsent.popleft()
        if self._pong is not None and not self._unsent:
            pong, self._pong = self._pong, None
            self.send(Opcode.PONG, pong)
        if self.roomy:
            self._on_room()

    def _take(self, message: WSMessage) -> None:
        if message.type == WSMsgType.BINARY:
            self._on_message(Opcode.BINARY, message.data)
        elif message.type == WSMsgType.TEXT:
            self._on_message(Opcode.TEXT, message.data.encode())
        elif message.type == WSMsgType.PING and self._unsent:
            # Only the newest has to be answered (RFC 6455 §5.5.3): one waits at most.
            self._pong = message.data
        elif message.type == WSMsgType.PING:
            self.send(Opcode.PONG, message.data)
