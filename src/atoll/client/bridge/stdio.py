"""The two ends of a client on stdio, as descriptors: bytes come in, whole lines go out.

A client that reads no more ends the reading, too: nobody would learn of an answer.
"""

import os
import select
from threading import Lock
from typing import Final

READ_BYTES: Final = 64 * 1024


class Stdio:
    """A client's ends. `write` may be called by any thread."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._writing = Lock()
        self._closed = False
        self._left, self._leave = os.pipe()

    def read(self) -> bytes:
        """Return the next bytes; empty once the client has closed an end."""
        waiting = select.poll()
        waiting.register(self._source, select.POLLIN)
        waiting.register(self._left, select.POLLIN)
        while True:
            ready = {number for number, _ in waiting.poll()}
            if self._left in ready:
                return b""
            try:
                return os.read(self._source, READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                return b""

    def write(self, line: bytes) -> None:
        """Write a line, waiting while the client does not read."""
        room = select.poll()
        room.register(self._sink, select.POLLOUT)
        left = memoryview(line + b"\n")
        with self._writing:
            try:
                while left and not self._closed:
                    room.poll()
                    try:
                        left = left[os.write(self._sink, left) :]
                    except BlockingIOError:
                        continue
            except OSError:
                self._closed = True
                os.write(self._leave, b"!")
