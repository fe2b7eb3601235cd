"""A client of one terminal that comes back by itself, as the page does, and keeps every byte.

It attaches through the control plane or straight at a runtime's socket; it knows offsets,
acknowledges or does not, and remembers whatever was lost or repeated. Its first acknowledgement on
a connection is at once: a driver that has sent none pauses nothing, so it could lose output.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

AGAIN_SECONDS = 0.05
ACK_EVERY_BYTES = 16384
FINAL_CLOSES = (1000, 4404, 4409)


@dataclass
class TerminalClient:
    """See the file's head. `url` ends in `/attach`."""

    session: aiohttp.ClientSession
    url: str
    client: str
    acks: bool = True
    output: bytearray = field(default_factory=bytearray)
    resyncs: list[dict[str, Any]] = field(default_factory=list)
    breaks: list[tuple[int, int]] = field(default_factory=list)
    starts: int = 0
    refusals: int = 0
    end: dict[str, Any] | None = None
    closed: int | None = None
    reads: asyncio.Event = field(default_factory=asyncio.Event)
    """Cleared, the client takes nothing from its connection."""
    place: int = 0
    """The offset of the next byte, which gaps have moved away from the length of `output`."""
    _ack_at: int = 0
    """The first offset to acknowledge next."""
    _socket: aiohttp.ClientWebSocketResponse | None = None
    _news: asyncio.Condition = field(default_factory=asyncio.Condition)

    def __post_init__(self) -> None:
        self.reads.set()

    async def run(self) -> None:
        """Attach, and attach again whenever the connection goes, until the terminal ends."""
        while self.closed not in FINAL_CLOSES:
            try:
                where = f"{self.address()}?client={self.client}&since={self.place}"
                async with self.session.ws_connect(where, max_msg_size=0) as connected:
                    await self._follow(connected)
            except (aiohttp.ClientError, OSError):
                self.refusals += 1
            await self._tell()
            await asyncio.sleep(AGAIN_SECONDS)

    def address(self) -> str:
        """Return where the next connection goes."""
        return self.url

    async def _follow(self, connected: aiohttp.ClientWebSocketResponse) -> None:
        async for message in connected:
            await self.reads.wait()
            if message.type is aiohttp.WSMsgType.BINARY:
                self.output += message.data
                self.place += len(message.data)
                await self._acknowledge(connected)
            elif message.type is aiohttp.WSMsgType.TEXT:
                self._told(json.loads(message.data))
                self._socket = connected
            await self._tell()
        self._socket = None
        self.closed = connected.close_code

    async def _acknowledge(self, connected: aiohttp.ClientWebSocketResponse) -> None:
        if self.acks and self.place >= self._ack_at:
            self._ack_at = self.place + ACK_EVERY_BYTES
            with suppress(aiohttp.ClientError, ConnectionError):
                await connected.send_json({"type": "ack", "offset": self.place})

    def _told(self, said: dict[str, Any]) -> None:
        match said["type"]:
            case "start":
                self.starts += 1
                self._ack_at = 0
                if said["offset"] != self.place:
                    self.breaks.append((self.place, said["offset"]))
                    self.place = said["offset"]
            case "resync":
                self.resyncs.append(said)
                self.place = said["to"]
            case "exit":
                self.end = said
            case _:
                pass  # the others move neither place nor end

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def until(self, holds: Callable[["TerminalClient"], bool], seconds: float = 60) -> None:
        """Return once something holds; a TimeoutError says what was seen last."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: holds(self))
                return
        raise TimeoutError(f"{self.client}: close {self.closed}, {bytes(self.output[-300:])!r}")

    async def sees(self, words: bytes, seconds: float = 60) -> None:
        """Return once the words were printed."""
        await self.until(lambda client: words in client.output, seconds)

    async def type(self, keys: bytes) -> None:
        """Send keystrokes over the live connection, once there is one. Raises
        `ConnectionResetError` when there is none any more."""
        await self.until(lambda one: one._socket is not None or one.closed in FINAL_CLOSES)
        if self._socket is None:
            raise ConnectionResetError(f"{self.client}: close {self.closed}")
        await self._socket.send_bytes(keys)

    @property
    def gaps(self) -> list[tuple[str, int, int]]:
        """What was lost or repeated: how it was told, from where and to where."""
        told = [("resync", gap["from"], gap["to"]) for gap in self.resyncs]
        return told + [("start", *pair) for pair in self.breaks]

    @property
    def exact(self) -> bool:
        """Whether no byte was lost or repeated so far."""
        return not self.gaps


@asynccontextmanager
async def attached(
    session: aiohttp.ClientSession, url: str, client: str, *, acks: bool = True
) -> AsyncIterator[TerminalClient]:
    """A client that runs for the length of the block."""
    one = TerminalClient(session, url, client, acks)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(one.run())
        try:
            yield one
        finally:
            running.cancel()
