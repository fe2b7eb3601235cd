"""Bytes both ways between a caller and where it went, with backpressure, idleness and volume.

Each way reads only what the other side took. What the bytes mean is not looked at here.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

CHUNK_BYTES = 32 * 1024
IDLE_SECONDS = 900.0
"""Nothing either way for so long ends a connection; programs that wait longer send keepalives."""

Opening = Callable[[], Awaitable[bytes]]
Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Spend(Protocol):
    """Counts bytes; False when there are none left to spend."""

    def __call__(self, *, out: int = 0, back: int = 0) -> bool:
        """Bytes that leave the sandbox, and bytes that come in."""
        ...


class Spent(Exception):
    """The hour's bytes are used up."""


@dataclass(slots=True)
class Pipe:
    """One caller and its counterpart. `sent` and `received` count the caller's bytes."""

    inner: Side
    outer: Side
    spend: Spend
    sent: int = 0
    received: int = 0
    idle_seconds: float = IDLE_SECONDS
    idled: bool = False
    _last: float = field(default=0.0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    async def tunnel(self, first: bytes = b"", opening: Opening | None = None) -> None:
        """Both ways until both ended; one that ended is told to the other side. `opening` gives
        the caller's first bytes once they were looked at. Raises an exception group of what
        went wrong, `Spent` among it."""
        async with asyncio.TaskGroup() as ways:
            ways.create_task(self._outward(first, opening))
            ways.create_task(self.back())

    async def send(self, data: bytes) -> None:
        """To the outside, as fast as it takes it. Raises `Spent`, `OSError`."""
        if not self.spend(out=len(data)):
            raise Spent
        self._touch()
        self.sent += len(data)
        self.outer[1].write(data)
        await self.outer[1].drain()

    async def back(self) -> None:
        """From the outside to the caller, to its end. Raises `Spent`, `OSError`."""
        reader, writer = self.outer[0], self.inner[1]
        while data := await reader.read(CHUNK_BYTES):
            if not self.spend(back=len(data)):
                raise Spent
            self._touch()
            self.received += len(data)
            writer.write(data)
            await writer.drain()
        end(writer)

    def cut(self) -> None:
        """End both sides now; whoever waits for them sees an end."""
        self.inner[1].transport.abort()
        self.outer[1].transport.abort()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Cut it when nothing passes for `idle_seconds`."""
        self._touch()
        self._look()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def hurry(self, idle_seconds: float) -> None:
        """Be this patient from now on."""
        self.idle_seconds = idle_seconds
        self._look()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        due = self._last + self.idle_seconds
        if loop.time() >= due:
            self.idled = True
            self.cut()
        else:
            self._timer = loop.call_at(due, self._look)

    def _touch(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def _outward(self, first: bytes, opening: Opening | None) -> None:
        if opening is not None:
            first = await opening()
        if first:
            await self.send(first)
        while data := await self.inner[0].read(CHUNK_BYTES):
            await self.send(data)
        end(self.outer[1])


def end(writer: asyncio.StreamWriter) -> None:
    """Say that nothing more comes."""
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
