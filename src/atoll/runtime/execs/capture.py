"""Output stream of a program: kept from its first byte up to a cap, read without end.

Past the cap bytes are counted and dropped; the program is never blocked by its reader.
"""

import asyncio
import os
from collections.abc import Callable

from atoll.runtime.stage import Flow, Stage

READ_BYTES = 64 * 1024
MAX_PIPE_BYTES = 1024 * 1024
"""The most an unprivileged process can make a pipe hold (pipe(7))."""


class Capture:
    """Reader of a pipe, whose read end it owns. `kept` begins at offset 0; `total` counts every
    byte that came out of `stage`, through which all of it goes."""

    def __init__(self, fd: int, cap: int, on_change: Callable[[], None], *, stage: Stage) -> None:
        os.set_blocking(fd, False)
        self._flow = Flow(stage, self._keep)
        self._fd = fd
        self._cap = cap
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._frozen = False
        self.kept = bytearray()
        self.total = 0
        self.drained = asyncio.Event()
        self._loop.add_reader(fd, self._read)

    @property
    def truncated(self) -> bool:
        """True when bytes were dropped."""
        return self.total > len(self.kept)

    def release(self) -> int:
        """Keep what the pipe holds now and no more: the program has ended. Returns the pipe when
        processes it left still hold the other end, else -1."""
        for _ in range(MAX_PIPE_BYTES // READ_BYTES):
            if self._fd < 0 or not self._read():
                break
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._loop.remove_reader(fd)
        self._flow.end()
        self._frozen = True
        self.drained.set()
        return fd

    def close(self) -> None:
        """Close the pipe; the kernel reports that to a program that still writes to it."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._flow.end()
        self.drained.set()

    def read(self, offset: int, limit: int) -> bytes:
        """Return up to `limit` kept bytes from `offset`; empty at the end of what is kept."""
        return bytes(self.kept[offset : offset + limit])

    def _read(self) -> bool:
        """Take one piece; False when none is there or the pipe has ended."""
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._flow.feed(data)
        else:
            self.close()
            self._on_change()
        return bool(data)

    def _keep(self, data: bytes) -> None:
        if not self._frozen:
            self.total += len(data)
            self.kept += data[: max(0, self._cap - len(self.kept))]
        self._on_change()
