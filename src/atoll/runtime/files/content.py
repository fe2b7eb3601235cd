"""The bytes of one regular file, read or written through a file that init opened."""

import os
import stat
from collections.abc import AsyncIterator
from dataclasses import dataclass

from atoll.domain.errors import Invalid
from atoll.ports.spawner import InsideFile, Spawner
from atoll.runtime.spawners.refusal import refusal

CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Content:
    """An open regular file; its holder closes it."""

    file: InsideFile
    size: int

    async def read(self, start: int, length: int) -> AsyncIterator[bytes]:
        """Yield `length` bytes from `start`; fewer when the file shrank meanwhile."""
        while length > 0:
            want = min(length, CHUNK_BYTES)
            data = await self.file.read(start, want)
            if not data:
                return
            yield data
            start, length = start + len(data), length - len(data)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


async def open_content(spawner: Spawner, path: str) -> Content:
    """Open for reading. Raises `Invalid` for anything that is not a regular file."""
    file = await spawner.open_file(path, os.O_RDONLY)
    try:
        seen = await file.stat()
    except BaseException:
        file.close()
        raise
    if stat.S_ISREG(seen.mode):
        return Content(file, seen.size)
    file.close()
    kind = "directory" if stat.S_ISDIR(seen.mode) else "pipe, socket or device"
    raise Invalid(
        f"cannot read {path!r}: it is a {kind}, not a file", code="not_a_file", field="path"
    )


async def write_content(file: InsideFile, chunks: AsyncIterator[bytes], *, what: str) -> int:
    """Write all chunks and return the number of bytes. Raises the error of a full disk, with `what`
    in its message."""
    total = 0
    async for chunk in chunks:
        try:
            await file.write(chunk)
        except OSError as error:
            raise refusal(error.errno or 0, what=what) from error
        total += len(chunk)
    return total
