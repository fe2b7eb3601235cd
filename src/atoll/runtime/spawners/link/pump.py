"""A descriptor of this process, joined with a channel: a program's pipe, or a door's connection."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from atoll.runtime.spawners.link.channel import Inflow, Outflow, Write
from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    Frame,
    Garbled,
    Kind,
    decode_number,
    encode_frame,
)


@dataclass(frozen=True, slots=True)
class Ways:
    """The directions of a pump: `reads` the descriptor for the far end, `writes` what comes."""

    reads: bool
    writes: bool


class Pump:
    """Owner of `fd`, which may be a socket. `on_end` is called once the channel is closed,
    `on_flushed` each time all that came has been written."""

    def __init__(
        self,
        number: int,
        fd: int,
        ways: Ways,
        *,
        write: Write,
        on_end: Callable[[int], None],
    ) -> None:
        os.set_blocking(fd, False)
        self._number = number
        self._fd = fd
        self._ways = ways
        self._write = write
        self._on_end = on_end
        self.on_flushed: Callable[[], None] | None = None
        self._loop = asyncio.get_running_loop()
        self._out = Outflow(number, write)
        self._in = Inflow(number, write)
        self._waiting: deque[memoryview] = deque()
        self._reading = self._writing = False
        self._may_read, self._may_write = ways.reads, ways.writes
        self._last = False
        if ways.reads:
            self._watch()

    @property
    def flushed(self) -> bool:
        """True when all that came has been written."""
        return not self._waiting

    def frame(self, frame: Frame) -> None:
        """Take a frame. Raises `Garbled`."""
        match frame.kind:
            case Kind.DATA:
                self._in.took(len(frame.payload))
                self._queue_data(frame.payload)
            case Kind.CREDIT:
                self._out.give(decode_number(frame.payload))
                self._watch()
            case Kind.EOF:
                self._last = True
                self._finish_writing()
            case Kind.CLOSE:
                self._close(report=False)
            case _:
                raise Garbled(f"a frame of kind {frame.kind} came for a pipe")

    def gone(self) -> None:
        """Close the descriptor; the far end is not told. Idempotent."""
        self._close(report=False)

    def _watch(self) -> None:
        if self._may_read and not self._reading and self._out.credit > 0:
            self._loop.add_reader(self._fd, self._read_data)
            self._reading = True

    def _read_data(self) -> None:
        """Read and send what the descriptor has, or report its end."""
        try:
            data = os.read(self._fd, min(self._out.credit, MAX_DATA_BYTES))
        except BlockingIOError:
            return
        except OSError:
            self._close(report=True)
            return
        if data:
            self._out.send(data)
            if self._out.credit <= 0:
                self._stop_reading()
            return
        self._stop_reading()
        self._may_read = False
        self._write(encode_frame(Kind.EOF, self._number))
        self._settle()

    def _stop_reading(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def _queue_data(self, data: bytes) -> None:
        """Queue data that is to be written to the descriptor."""
        if not self._may_write:
            return
        self._waiting.append(memoryview(data))
        if len(self._waiting) == 1:
            self._put()

    def _put(self) -> None:
        while self._waiting:
            piece = self._waiting[0]
            try:
                count = os.write(self._fd, piece)
            except BlockingIOError:
                if not self._writing:
                    self._loop.add_writer(self._fd, self._put)
                    self._writing = True
                return
            except OSError:
                # Nobody here reads any more; the program inside learns it as it would here.
                self._close(report=True)
                return
            self._in.consumed(count)
            if count == len(piece):
                self._waiting.popleft()
            else:
                self._waiting[0] = piece[count:]
        self._stop_writing()
        self._finish_writing()
        if self.on_flushed is not None:
            self.on_flushed()

    def _stop_writing(self) -> None:
        if self._writing:
            self._loop.remove_writer(self._fd)
            self._writing = False

    def _finish_writing(self) -> None:
        """Pass on the end of what came, once all of it is written."""
        if not self._last or self._waiting or not self._may_write:
            return
        self._may_write = False
        if self._ways.reads:
            with suppress(OSError), socket.socket(fileno=os.dup(self._fd)) as same:
                same.shutdown(socket.SHUT_WR)
        self._settle()

    def _settle(self) -> None:
        # Without a CLOSE: it would take from the program what the far end has yet to write.
        if not self._may_read and not self._may_write:
            self._close(report=False)

    def _close(self, *, report: bool) -> None:
        if self._fd < 0:
            return
        self._stop_reading()
        self._stop_writing()
        self._waiting.clear()
        self._may_read = self._may_write = False
        fd, self._fd = self._fd, -1
        os.close(fd)
        if report:
            self._write(encode_frame(Kind.CLOSE, self._number))
        self._on_end(self._number)
        if self.on_flushed is not None:
            self.on_flushed()
