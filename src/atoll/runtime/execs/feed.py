"""A program's standard input, written as fast as it reads, with a bounded amount waiting."""

import asyncio
import os
from collections.abc import Callable

from atoll.domain.errors import Conflict

MAX_WAITING_BYTES = 256 * 1024


class Feed:
    """Writer of a pipe, whose write end it owns. `taken` is called with how many bytes more the
    program took, or will never take."""

    def __init__(self, fd: int, *, taken: Callable[[int], None] = lambda count: None) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._taken = taken
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._closing = False
        self._room = asyncio.Event()
        self._room.set()

    async def write(self, data: bytes) -> None:
        """Take `data`; waits while too much waits already. Raises `Conflict` when the program
        reads no more or its input was closed."""
        await self._room.wait()
        if self._fd < 0 or self._closing:
            raise Conflict("the program's input is closed", code="input_closed")
        self.put(data)

    def put(self, data: bytes | memoryview) -> None:
        """Take `data` without waiting: for input that is bounded elsewhere."""
        if not data or self._fd < 0:
            self._taken(len(data))
            return
        idle = not self._waiting
        self._waiting += data
        if idle:
            self._loop.add_writer(self._fd, self._pump)
        self._mark()

    def finish(self) -> None:
        """End of input, once what waits has been written."""
        self._closing = True
        if not self._waiting:
            self.close()

    def close(self) -> None:
        """End of input now."""
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
        left = len(self._waiting)
        self._waiting.clear()
        self._mark()
        if left:
            self._taken(left)

    def _pump(self) -> None:
        try:
            count = os.write(self._fd, self._waiting)
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.close()
            return
        del self._waiting[:count]
        self._mark()
        self._taken(count)
        if not self._waiting:
            self._loop.remove_writer(self._fd)
            if self._closing:
                self.close()

    def _mark(self) -> None:
        if len(self._waiting) < MAX_WAITING_BYTES:
            self._room.set()
        else:
            self._room.clear()
