"""Our end of a pipe in the running loop: reads and writes that wait without blocking it."""

import asyncio
import os
from collections.abc import Callable

CHUNK_BYTES = 64 * 1024


class HalfPipe:
    """A pipe of which one end is passed on; closes the ends that are still open when it exits."""

    def __init__(self, *, reads: bool) -> None:
        out, into = os.pipe2(os.O_CLOEXEC)
        self._ours, self._theirs = (out, into) if reads else (into, out)
        os.set_blocking(self._ours, False)

    @property
    def theirs(self) -> int:
        """The descriptor to give away (by duplicate) before `given`."""
        return self._theirs

    def given(self) -> None:
        """Close our copy of the end that was handed over, so that its end of file is seen.
        Idempotent."""
        if self._theirs >= 0:
            os.close(self._theirs)
            self._theirs = -1

    def close(self) -> None:
        """Close both ends. Idempotent."""
        self.given()
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    async def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Return the available bytes, at most `size`; empty at the end."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._ours, size)
            except BlockingIOError:
                await self._wait_ready(loop.add_reader, loop.remove_reader)

    def read_now(self, size: int) -> bytes:
        """Return the available bytes without waiting."""
        try:
            return os.read(self._ours, size)
        except BlockingIOError:
            return b""

    async def write(self, data: bytes) -> None:
        """Write all of `data`, as fast as the other side reads. Raises BrokenPipeError."""
        loop, view = asyncio.get_running_loop(), memoryview(data)
        while view:
            try:
                view = view[os.write(self._ours, view) :]
            except BlockingIOError:
                await self._wait_ready(loop.add_writer, loop.remove_writer)

    async def _wait_ready(
        self,
        watch: Callable[[int, Callable[[], None]], None],
        unwatch: Callable[[int], bool],
    ) -> None:
        """Wait until the pipe can be read or written, as `watch` says."""
        ready = asyncio.Event()
        watch(self._ours, ready.set)
        try:
            await ready.wait()
        finally:
            unwatch(self._ours)
