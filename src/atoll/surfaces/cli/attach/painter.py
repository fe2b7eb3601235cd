"""Output on its way to the screen, joined while the terminal is still drawing what came before.

A write may block for as long as the terminal is slow, so it runs in a thread. A thread for each
frame costs more than the frame; what arrives meanwhile therefore goes in one write. Queued bytes
are bounded: then the connection is no longer read, which is the backpressure.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from atoll.surfaces.cli.attach.rawtty import RawTty

MAX_QUEUED_BYTES = 256 * 1024
WRITE_BYTES = 64 * 1024
"""The bytes after which a write is whole: what it showed is then acknowledged, and the server goes
on while the next one is drawn."""


class Painter:
    """The queue of one terminal's output. Whoever writes anything else waits by `wait_drained`."""

    def __init__(self, tty: RawTty, shown: Callable[[int], Awaitable[None]]) -> None:
        """Paint on `tty`; `shown` hears how many counted bytes have reached it."""
        self._tty = tty
        self._shown = shown
        self._queued: deque[tuple[bytes, bool]] = deque()
        self._bytes = 0
        self._work = asyncio.Event()
        self._room = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def put(self, data: bytes, *, counted: bool) -> None:
        """Queue output; waits while too much is queued."""
        while self._bytes >= MAX_QUEUED_BYTES:
            self._room.clear()
            await self._room.wait()
        self._queued.append((data, counted))
        self._bytes += len(data)
        self._idle.clear()
        self._work.set()

    async def wait_drained(self) -> None:
        """Wait until all that was queued is on the screen."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write for ever."""
        while True:
            await self._work.wait()
            while self._queued:
                data, count = self._take()
                await asyncio.to_thread(self._tty.show, data)
                if count:
                    await self._shown(count)
            self._work.clear()
            self._idle.set()

    def _take(self) -> tuple[bytes, int]:
        """Take about `WRITE_BYTES` from the queue, and how many of them are counted."""
        taken, size, count = [], 0, 0
        while self._queued and size < WRITE_BYTES:
            data, counted = self._queued.popleft()
            taken.append(data)
            size += len(data)
            count += len(data) if counted else 0
        self._bytes -= size
        self._room.set()
        return b"".join(taken), count
