"""A file of the sandbox by its descriptor, and nothing about how it was opened.

Disk may be slow, so every read and write happens in a thread, never in the loop.
"""

import asyncio
import os

from atoll.ports.spawner import FileStat


class DescriptorFile:
    """`ports.InsideFile` of a descriptor, which it owns."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def stat(self) -> FileStat:
        """Return mode and size."""
        seen = os.fstat(self._fd)
        return FileStat(seen.st_mode, seen.st_size)

    async def read(self, start: int, length: int) -> bytes:
        """Return bytes from `start`, at most `length`."""
        return await asyncio.to_thread(os.pread, self._fd, length, start)

    async def write(self, data: bytes) -> None:
        """Write all of `data` after what was written before."""
        await asyncio.to_thread(_write_all, self._fd, data)

    def close(self) -> None:
        """Close the descriptor. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
