"""Output of a program, read no faster than its reader takes it.

Nothing is kept here: who does not read stops the program once its pipe is full.
"""

import asyncio
import contextlib
import fcntl
import os
import struct
import termios

from atoll.runtime.stage import Stage, next_tick

READ_BYTES = 256 * 1024
PIPE_BYTES = 256 * 1024
"""The size of the pipe: the kernel's own, 64 KiB, wakes both sides four times as often."""


def widen(fd: int) -> None:
    """Let a pipe hold `PIPE_BYTES`, where the user's share of the kernel's memory allows that."""
    with contextlib.suppress(OSError):
        fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


class OutputPipe:
    """Reader of a pipe, whose read end it owns. All bytes go through `stage`, which may hold some
    back for a tick. One task reads."""

    def __init__(self, fd: int, stage: Stage) -> None:
        os.set_blocking(fd, False)
        widen(fd)
        self._fd = fd
        self._stage = stage
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._rest: int | None = None
        """Bytes that are still to be read, once the program has ended."""
        self.ended = asyncio.Event()

    async def read(self) -> bytes:
        """Return the next output; empty at its end."""
        while not self.ended.is_set():
            data = self._read_piece()
            if data is None:
                data = await self._wait()
            elif data:
                data = self._stage.feed(data)
            else:
                self.ended.set()
                data = self._stage.flush()
            if data:
                return data
        return b""

    def finish(self) -> None:
        """End once everything that the pipe holds now was read: the program has ended."""
        if self._fd >= 0 and self._rest is None:
            self._rest = _held_bytes(self._fd)
            self._ready.set()

    def release(self) -> int:
        """Read no more. Returns the pipe when somebody may still hold its other end, else -1."""
        self.ended.set()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            self._loop.remove_reader(fd)
            self._ready.set()
        return fd

    def _read_piece(self) -> bytes | None:
        """Return what the pipe has: empty at the end, None when that is yet to come."""
        if self._fd < 0 or self._rest == 0:
            return b""
        try:
            data = os.read(self._fd, READ_BYTES if self._rest is None else self._rest)
        except BlockingIOError:
            return None if self._rest is None else b""
        if self._rest is not None:
            self._rest -= len(data)
        if not data:
            os.close(self._fd)
            self._fd = -1
        return data

    async def _wait(self) -> bytes:
        """Wait until there is more to read; return what the stage lets go meanwhile."""
        tick = next_tick(self._loop.time()) if self._stage.waiting else None
        fd = self._fd
        self._loop.add_reader(fd, self._ready.set)
        try:
            async with asyncio.timeout_at(tick):
                await self._ready.wait()
        except TimeoutError:
            return self._stage.tick()
        finally:
            self._ready.clear()
            if self._fd == fd:
                self._loop.remove_reader(fd)
        return b""


def _held_bytes(fd: int) -> int:
    """Return how many bytes a pipe holds (FIONREAD, pipe(7))."""
    count: int = struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]
    return count
