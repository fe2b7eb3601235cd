"""The master side of a PTY on the event loop: reading, typing, size and signals.

Reads at most 32 KiB a loop turn, so that a flooding terminal does not starve its neighbours, and
half of that while it is throttled. The kernel gives small pieces and needs time for each, so each
is passed on as it comes, and the next is polled for (`poll_for`).
"""

import asyncio
import errno
import fcntl
import os
import signal
import termios
from array import array
from time import monotonic

from atoll.domain.terminals.size import Size
from atoll.ports.spawner import PtyReader, Taken
from atoll.runtime.spawners.waiting import WaitingInput

READ_BYTES = 32 * 1024
PACED_BYTES = 16 * 1024
FULL_PIECE = 4095
"""All a terminal holds (Linux's N_TTY_BUF_SIZE, less one): after so much there may be more."""
PACE_SECONDS = 0.001
"""A throttled terminal rests so long after each `PACED_BYTES`."""
POLL_SECONDS = 0.0002
"""The longest poll: where others take the core for longer, sleeping is as good."""
HUNG_RETRY_SECONDS = 0.2
TIOCSIG = 0x40045436
"""Signals the foreground process group, from outside its pid namespace too (tty_ioctl(2),
Linux's pty_signal: INT, QUIT and TSTP only)."""


class Master:
    """`ports.PtyMaster` of a descriptor, which it owns. After a hang-up reading is tried again."""

    def __init__(self, fd: int, reader: PtyReader) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self.taking = False
        self._reader = reader
        # Called for each piece of a flood.
        self._on_data = reader.data
        self._taken = 0
        self._taken_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._reading = False
        self._wanted = False
        self._retry: asyncio.TimerHandle | None = None
        self._waiting = WaitingInput()

    @property
    def closed(self) -> bool:
        """True when the descriptor is closed."""
        return self._fd < 0

    @property
    def echo_off(self) -> bool:
        """True when the line discipline reads lines without echoing them."""
        if self.closed:
            return False
        local: int = termios.tcgetattr(self._fd)[3]
        return bool(local & termios.ICANON) and not local & termios.ECHO

    def resume(self) -> None:
        """Read whatever comes."""
        self._wanted = True
        self._forget_retry()
        if not self._reading and not self.closed:
            self._loop.add_reader(self._fd, self._read)
            self._reading = True

    def unpause(self) -> None:
        """Undo `pause`; unlike `resume` it leaves a hung-up terminal its time."""
        if not self._wanted:
            self.resume()

    def pause(self) -> None:
        """Stop reading: the program blocks once the kernel's buffer is full."""
        self._wanted = False
        self._forget_retry()
        self._unwatch()

    def write(self, data: bytes, taken: Taken = lambda _: None) -> bool:
        """Type `data`, all of it or nothing: False when too much is waiting already. `taken` is
        called as the program's side takes it."""
        if self.closed or not self._waiting.takes(len(data)):
            return False
        waits = bool(self._waiting)
        self._waiting.put(data, taken)
        if not waits:
            self._waiting.drain(self._put)
            if self._waiting:
                self._loop.add_writer(self._fd, self._type)
        return True

    def resize(self, size: Size) -> None:
        """Set the size; the kernel signals the foreground program when it differs."""
        if not self.closed:
            termios.tcsetwinsize(self._fd, (size.rows, size.cols))

    def interrupt(self, number: signal.Signals) -> None:
        """Signal the foreground process group; INT and QUIT only."""
        if not self.closed:
            fcntl.ioctl(self._fd, TIOCSIG, int(number))

    def close(self) -> None:
        """Close the descriptor; processes on the other side receive a hang-up."""
        if self.closed:
            return
        self.pause()
        if self._waiting:
            self._loop.remove_writer(self._fd)
            self._waiting.clear()
        fd, self._fd = self._fd, -1
        os.close(fd)

    def _read(self) -> None:
        throttled = self._reader.throttled()
        try:
            count = self._take_turn(throttled=throttled)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            count = 0
        if count:
            if throttled:
                self._pace(count)
            self._reader.turn()
            return
        self._unwatch()
        # Polling a hung-up terminal would spin: look again now and then.
        self._retry = self._loop.call_later(HUNG_RETRY_SECONDS, self.resume)
        self._reader.hangup()

    def _take_turn(self, *, throttled: bool) -> int:
        """Return how many bytes one turn took. Raises `OSError` when there are none, as read(2)
        does."""
        most = PACED_BYTES if throttled else READ_BYTES
        piece = os.read(self._fd, most)
        count = len(piece)
        self.taking = True
        try:
            self._on_data(piece)
            while len(piece) >= FULL_PIECE <= most - count:
                try:
                    if not throttled:
                        poll_for(FULL_PIECE, self._fd)
                    piece = os.read(self._fd, most - count)
                except OSError:
                    # It says so again at the next turn.
                    break
                count += len(piece)
                self._on_data(piece)
        finally:
            self.taking = False
        return count

    def _pace(self, count: int) -> None:
        """Pause reading when much was read in a short time."""
        now = self._loop.time()
        if now >= self._taken_since + PACE_SECONDS:
            self._taken, self._taken_since = 0, now
        self._taken += count
        if self._taken >= PACED_BYTES:
            self._taken = 0
            self._unwatch()
            self._retry = self._loop.call_later(PACE_SECONDS, self.resume)

    def _type(self) -> None:
        self._waiting.drain(self._put)
        if not self._waiting:
            self._loop.remove_writer(self._fd)

    def _put(self, data: memoryview) -> int:
        """Return how many bytes the terminal took; a hung-up one takes all there is."""
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return len(data)

    def _unwatch(self) -> None:
        if self._reading:
            self._loop.remove_reader(self._fd)
            self._reading = False

    def _forget_retry(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None


class DescriptorPty:
    """`ports.Pty` of two descriptors, which it owns."""

    def __init__(self, master: int, slave: int) -> None:
        self._master = master
        self._slave = slave

    @property
    def slave(self) -> int:
        """Descriptor of the program's side."""
        return self._slave

    @property
    def lasting(self) -> None:
        """None: it ends with this process."""
        return None

    @property
    def window_bytes(self) -> int:
        """Zero: it is read where the program writes."""
        return 0

    def close_slave(self) -> None:
        """Close the program's side. Idempotent."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def open(self, reader: PtyReader) -> Master:
        """Return the terminal, which owns its descriptor from now on."""
        fd, self._master = self._master, -1
        return Master(fd, reader)

    def close(self) -> None:
        """Close both sides, unless `open` gave one away. Idempotent."""
        self.close_slave()
        if self._master >= 0:
            os.close(self._master)
            self._master = -1


def poll_for(count: int, fd: int) -> None:
    """Return when `count` bytes can be read, or the time is over. Raises `OSError`.

    read(2) of a PTY sleeps until the kernel's worker has filled it, even on a non-blocking
    descriptor (Linux: n_tty_read waits in tty_buffer_flush_work), and waking up takes longer than
    the worker does. Between two polls the core is free for others: the worker may be among them,
    and so may a viewer.
    """
    held = array("i", [0])
    until = monotonic() + POLL_SECONDS
    while monotonic() < until:
        fcntl.ioctl(fd, termios.FIONREAD, held)
        if held[0] >= count:
            return
        os.sched_yield()
