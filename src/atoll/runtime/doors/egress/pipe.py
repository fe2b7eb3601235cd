"""A pipe between a caller and its destination, with backpressure, an idle limit and a volume limit.

Each direction reads only as much as the other side accepted. The pipe does not interpret bytes.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

CHUNK_BYTES = 32 * 1024
IDLE_SECONDS = 900.0
"""Idle time after which a connection ends. Programs that wait longer send keepalives."""

Opening = Callable[[], Awaitable[bytes]]
Side = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class SpendBytes(Protocol):
    """A counter of bytes that returns False when the limit is reached."""

    def __call__(self, *, out: int = 0, back: int = 0) -> bool:
        """Count bytes that leave the sandbox (`out`) and bytes that enter it (`back`)."""
        ...


class VolumeSpent(Exception):
    """The hour's bytes are used up."""


@dataclass(slots=True)
class Tunnel:
    """A pipe between one caller and its destination. `sent` and `received` count its bytes."""

    inner: Side
    outer: Side
    spend: SpendBytes
    sent: int = 0
    received: int = 0
    idle_seconds: float = IDLE_SECONDS
    idled: bool = False
    _last: float = field(default=0.0, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    async def tunnel(self, first: bytes = b"", opening: Opening | None = None) -> None:
        """Forward both directions, and the end of each, until both ended. `opening` returns the
        caller's first bytes after a check. Raises a group of exceptions, `VolumeSpent` among
        them."""
        async with asyncio.TaskGroup() as directions:
            directions.create_task(self._forward_request(first, opening))
            directions.create_task(self.forward_response())

    async def send(self, data: bytes) -> None:
        """Send to the destination as fast as it reads. Raises `VolumeSpent`, `OSError`."""
        if not self.spend(out=len(data)):
            raise VolumeSpent
        self._touch()
        self.sent += len(data)
        self.outer[1].write(data)
        await self.outer[1].drain()

    async def forward_response(self) -> None:
        """Forward the destination's bytes to the caller until they end. Raises `VolumeSpent`,
        `OSError`."""
        reader, writer = self.outer[0], self.inner[1]
        while data := await reader.read(CHUNK_BYTES):
            if not self.spend(back=len(data)):
                raise VolumeSpent
            self._touch()
            self.received += len(data)
            writer.write(data)
            await writer.drain()
        send_eof(writer)

    def cut(self) -> None:
        """Abort both sides. Their readers see an end of file."""
        self.inner[1].transport.abort()
        self.outer[1].transport.abort()

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Cut the pipe when no byte passes for `idle_seconds`."""
        self._touch()
        self._check_idle()
        try:
            yield
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def set_idle_limit(self, idle_seconds: float) -> None:
        """Set a new idle limit, effective at once."""
        self.idle_seconds = idle_seconds
        self._check_idle()

    def _check_idle(self) -> None:
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            self._timer.cancel()
        due = self._last + self.idle_seconds
        if loop.time() >= due:
            self.idled = True
            self.cut()
        else:
            self._timer = loop.call_at(due, self._check_idle)

    def _touch(self) -> None:
        self._last = asyncio.get_running_loop().time()

    async def _forward_request(self, first: bytes, opening: Opening | None) -> None:
        if opening is not None:
            first = await opening()
        if first:
            await self.send(first)
        while data := await self.inner[0].read(CHUNK_BYTES):
            await self.send(data)
        send_eof(self.outer[1])


def send_eof(writer: asyncio.StreamWriter) -> None:
    """Send an end of file."""
    with contextlib.suppress(OSError):
        if writer.can_write_eof():
            writer.write_eof()
