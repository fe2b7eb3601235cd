"""One output stream of a program: kept from its first byte up to a cap, read without end.

Past the cap bytes are counted and dropped; the program is never blocked by its reader.
"""

import asyncio
import os
from collections.abc import Callable

READ_BYTES = 64 * 1024


class Capture:
    """Owns a pipe's read end. `kept` begins at offset 0; `total` counts every byte written."""

    def __init__(self, fd: int, cap: int, on_change: Callable[[], None]) -> None:
        os.set_blocking(fd, False)
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
        """Whether bytes were dropped."""
        return self.total > len(self.kept)

    def freeze(self) -> None:
        """Keep no more: the program has ended, whoever it left behind may write on unheard."""
        self._frozen = True

    def close(self) -> None:
        """Let go of the pipe; whoever still writes to it is told so by the kernel."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        self.drained.set()

    def read(self, offset: int, limit: int) -> bytes:
        """Up to `limit` kept bytes from `offset`; empty at the end of what is kept."""
        return bytes(self.kept[offset : offset + limit])

    def _read(self) -> None:
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close()
        elif not self._frozen:
            self.total += len(data)
            self.kept += data[: max(0, self._cap - len(self.kept))]
        self._on_change()
