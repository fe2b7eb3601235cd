"""Output of processes that outlive their exec: read and thrown away.

Closing the pipes would end them by SIGPIPE at their next line. Reading is slow on purpose, so
that a process nobody follows cannot keep the runtime busy.
"""

import asyncio
import os

READ_BYTES = 64 * 1024
PAUSE_SECONDS = 0.05
MAX_PIPES = 128
"""Beyond that the oldest pipe is closed."""


class Discards:
    """Owner of read ends, which it drains until nobody writes to them any more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pauses: dict[int, asyncio.TimerHandle | None] = {}

    def take(self, fd: int) -> None:
        """Own a non-blocking read end from now on."""
        if len(self._pauses) >= MAX_PIPES:
            self._close(next(iter(self._pauses)))
        self._listen(fd)

    def close(self) -> None:
        """Close every pipe."""
        for fd in list(self._pauses):
            self._close(fd)

    def __len__(self) -> int:
        return len(self._pauses)

    def _listen(self, fd: int) -> None:
        self._pauses[fd] = None
        self._loop.add_reader(fd, self._read, fd)

    def _read(self, fd: int) -> None:
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close(fd)
            return
        self._loop.remove_reader(fd)
        self._pauses[fd] = self._loop.call_later(PAUSE_SECONDS, self._listen, fd)

    def _close(self, fd: int) -> None:
        pause = self._pauses.pop(fd)
        if pause is not None:
            pause.cancel()
        self._loop.remove_reader(fd)
        os.close(fd)
