"""A terminal of the far side: read and typed at like one of this machine.

Sizes, signals and the echo mode are messages; output comes in order with hang-ups.
"""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Callable

from atoll.domain.terminals.size import Size
from atoll.ports.spawner import PtyReader, Taken
from atoll.runtime.spawners.link.channel import Inflow, Outflow, Write
from atoll.runtime.spawners.waiting import WaitingInput
from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    WINDOW_BYTES,
    Frame,
    Garbled,
    Kind,
    decode_number,
    encode_frame,
    encode_size,
)

TURN_BYTES = 32 * 1024
PACED_BYTES = 16 * 1024
PACE_SECONDS = 0.001
"""A throttled terminal rests so long after each `PACED_BYTES`."""

MAX_HANGUPS = 64
"""Hang-ups of a paused terminal that are kept; the far end repeats them anyway."""


class LinkedTerminal:
    """`ports.Pty` and `ports.PtyMaster` of one channel. `slave` is a descriptor that stands for the
    program's side, and only for that."""

    def __init__(self, number: int, *, write: Write, on_end: Callable[[int], None]) -> None:
        self._number = number
        self._write = write
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._slave = os.memfd_create("terminal", os.MFD_CLOEXEC)
        self.identity = identity_of(self._slave)
        self._out = Outflow(number, write)
        self._in = Inflow(number, write)
        self._reader: PtyReader | None = None
        self._waiting = WaitingInput()
        self._unsettled: deque[tuple[int, Taken]] = deque()
        self._came: deque[bytes | None] = deque()
        self._wanted = self._closed = False
        self._turn: asyncio.Handle | None = None
        self.echo_off = self.taking = False

    # The holder's side.

    @property
    def slave(self) -> int:
        """Descriptor that stands for the program's side."""
        return self._slave

    @property
    def lasting(self) -> int:
        """The number of the channel, which the far end keeps for a later near end."""
        return self._number

    @property
    def window_bytes(self) -> int:
        """The channel's window."""
        return WINDOW_BYTES

    @property
    def closed(self) -> bool:
        """True when the channel is closed."""
        return self._closed

    def close_slave(self) -> None:
        """Close the stand-in. Idempotent."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def open(self, reader: PtyReader) -> "LinkedTerminal":
        """Return this terminal, which `reader` receives from `resume` on."""
        self._reader = reader
        return self

    def resume(self) -> None:
        """Deliver whatever came and comes."""
        self._wanted = True
        self._schedule()

    def unpause(self) -> None:
        """Undo `pause`."""
        self.resume()

    def pause(self) -> None:
        """Stop delivering: the program blocks once its window is full."""
        self._wanted = False
        self._forget_turn()

    def write(self, data: bytes, taken: Taken = lambda _: None) -> bool:
        """Type `data`, all of it or nothing."""
        if self._closed or not self._waiting.takes(len(data)):
            return False
        self._waiting.put(data, lambda count: self._unsettled.append((count, taken)))
        self._waiting.drain(self._put)
        return True

    def resize(self, size: Size) -> None:
        """Set the size."""
        if not self._closed:
            self._write(encode_size(self._number, size.cols, size.rows))

    def interrupt(self, number: signal.Signals) -> None:
        """Signal the foreground process group."""
        if not self._closed:
            payload = int(number).to_bytes(4, "little")
            self._write(encode_frame(Kind.SIGNAL, self._number, payload))

    def close(self) -> None:
        """Close the terminal. Idempotent."""
        if not self._closed:
            self._write(encode_frame(Kind.CLOSE, self._number))
            self.gone()

    # The channel's side.

    def frame(self, frame: Frame) -> None:
        """Take a frame. Raises `Garbled`."""
        match frame.kind:
            case Kind.DATA:
                self._in.took(len(frame.payload))
                self._queue_output(frame.payload)
            case Kind.CREDIT:
                self._settle(decode_number(frame.payload))
            case Kind.MODES:
                self.echo_off = bool(frame.payload[:1] == b"\x01")
            case Kind.HANGUP:
                if self._came.count(None) < MAX_HANGUPS:
                    self._queue_output(None)
            case Kind.EOF | Kind.CLOSE:
                self.gone()
            case _:
                raise Garbled(f"a frame of kind {frame.kind} came for a terminal")

    def gone(self) -> None:
        """Take no more input; what came is still delivered, and then the hang-up. Idempotent."""
        if self._closed:
            return
        self._closed = True
        self.close_slave()
        self._waiting.clear()
        self._unsettled.clear()
        self._on_end(self._number)
        if self._reader is not None:
            self._queue_output(None)

    def _queue_output(self, data: bytes | None) -> None:
        """Queue output, or None for a hang-up, and deliver it when it is wanted."""
        self._came.append(data)
        if self._wanted and self._turn is None and not self.taking:
            self._deliver()

    def _schedule(self) -> None:
        if self._wanted and self._came and self._turn is None:
            self._turn = self._loop.call_soon(self._deliver)

    def _forget_turn(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
            self._turn = None

    def _deliver(self) -> None:
        """Deliver one turn of output, and hang-ups in their place."""
        self._turn = None
        reader = self._reader
        if reader is None:
            return
        throttled = reader.throttled()
        count = self._take(reader, PACED_BYTES if throttled else TURN_BYTES)
        if count:
            self._in.consumed(count)
            reader.turn()
        if self._wanted and self._came and self._came[0] is None:
            while self._came and self._came[0] is None:
                self._came.popleft()
            reader.hangup()
        if throttled and count >= PACED_BYTES and self._wanted and self._turn is None:
            self._turn = self._loop.call_later(PACE_SECONDS, self._deliver)
        self._schedule()

    def _take(self, reader: PtyReader, most: int) -> int:
        """Deliver pieces until a hang-up, a pause, or `most` bytes."""
        count = 0
        self.taking = True
        try:
            while self._came and count < most and (piece := self._came[0]) is not None:
                self._came.popleft()
                count += len(piece)
                reader.data(piece)
                if not self._wanted:
                    break
        finally:
            self.taking = False
        return count

    def _put(self, data: memoryview) -> int:
        count = min(len(data), self._out.credit, MAX_DATA_BYTES)
        if count:
            self._out.send(data[:count])
        return count

    def _settle(self, count: int) -> None:
        """Report input that the program's side took, and type what waited for that."""
        self._out.give(count)
        while count and self._unsettled:
            size, taken = self._unsettled.popleft()
            if size > count:
                self._unsettled.appendleft((size - count, taken))
            taken(min(size, count))
            count -= min(size, count)
        self._waiting.drain(self._put)


def identity_of(fd: int) -> tuple[int, int]:
    """Return what names an open file in this process, duplicates included. Raises `OSError`."""
    seen = os.fstat(fd)
    return seen.st_dev, seen.st_ino
