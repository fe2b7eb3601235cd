"""The bytes of one regular file, read or written through a descriptor init opened.

Disk may be slow, so every read and write happens in a thread, never in the loop.
"""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass

from atoll.domain.errors import Invalid
from atoll.ports.spawner import Spawner
from atoll.runtime.spawners.refusal import refusal

CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """An open regular file; its holder closes it."""

    fd: int
    size: int

    async def read(self, start: int, length: int) -> AsyncIterator[bytes]:
        """Yield `length` bytes from `start`; fewer when the file shrank meanwhile."""
        while length > 0:
            want = min(length, CHUNK_BYTES)
            data = await asyncio.to_thread(os.pread, self.fd, want, start)
            if not data:
                return
            yield data
            start, length = start + len(data), length - len(data)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.fd)


async def open_content(spawner: Spawner, path: str) -> Content:
    """Open for reading. Raises `Invalid` for anything that is not a regular file."""
    fd = await spawner.open_file(path, os.O_RDONLY)
    seen = os.fstat(fd)
    if stat.S_ISREG(seen.st_mode):
        return Content(fd, seen.st_size)
    os.close(fd)
    kind = "directory" if stat.S_ISDIR(seen.st_mode) else "pipe, socket or device"
    raise Invalid(
        f"cannot read {path!r}: it is a {kind}, not a file", code="not_a_file", field="path"
    )


async def write_content(fd: int, chunks: AsyncIterator[bytes], *, what: str) -> int:
    """Write all chunks and return the number of bytes. Raises the error of a full disk, with `what`
    in its message."""
    total = 0
    async for chunk in chunks:
        try:
            await asyncio.to_thread(_write_all, fd, chunk)
        except OSError as error:
            raise refusal(error.errno or 0, what=what) from error
        total += len(chunk)
    return total


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
