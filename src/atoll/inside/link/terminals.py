"""Channels that are terminals: output, echo modes, size, signals and hang-ups."""

import fcntl
import os
import select
import termios
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from atoll.inside.link.channels import Channel, Channels
from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import NEVER, Watch
from atoll.wire.link.frames import MAX_DATA_BYTES, Adopted, Kind, Passed, encode_adopted

FULL_PIECE = 4095
"""All a terminal holds (Linux's N_TTY_BUF_SIZE, less one): after so much there may be more."""
LOOK_SECONDS = 0.02
HUNG_RETRY_SECONDS = 0.2
TIOCGPTPEER = 0x5441
TIOCSIG = 0x40045436
"""Signals the foreground process group, from outside its pid namespace too (tty_ioctl(2))."""


class Terminal:
    """A terminal's channel, and what is known of its program."""

    def __init__(self, channel: Channel, slave: int) -> None:
        self.channel = channel
        self.pid = 0
        self.end: bytes | None = None
        self.nameless = False
        self.look_at = NEVER
        self.hung_until = 0.0
        self._slave = slave
        self._echo_off = False

    def program_side(self) -> int:
        """Return a descriptor of the other side, which the caller closes. Raises `OSError`."""
        if self._slave >= 0:
            slave, self._slave = self._slave, -1
            return slave
        return fcntl.ioctl(self.channel.fd, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)

    def close(self) -> None:
        """Close the other side, where it was given to no program."""
        if self._slave >= 0:
            os.close(self._slave)
            self._slave = -1

    def renew(self) -> None:
        """Forget what the last near end was sent."""
        self.channel.renew()
        self._echo_off = False
        self.look_at = 0.0

    def look(self, near: NearEnd) -> None:
        """Send the echo mode if it changed."""
        try:
            local: int = termios.tcgetattr(self.channel.fd)[3]
        except termios.error:
            return
        echo_off = bool(local & termios.ICANON) and not local & termios.ECHO
        if echo_off != self._echo_off:
            self._echo_off = echo_off
            near.send_kind(Kind.MODES, self.channel.number, bytes((echo_off,)))

    def resize(self, cols: int, rows: int) -> None:
        """Set the size."""
        with suppress(OSError):
            termios.tcsetwinsize(self.channel.fd, (rows, cols))

    def signal(self, number: int) -> None:
        """Signal the foreground process group; INT, QUIT and TSTP only."""
        with suppress(OSError, OverflowError):
            fcntl.ioctl(self.channel.fd, TIOCSIG, number)

    def adopted(self) -> bytes:
        """Return the frame that names it to another near end."""
        rows, cols = termios.tcgetwinsize(self.channel.fd)
        return encode_adopted(self.channel.number, Adopted(self.channel.tag, self.pid, cols, rows))


class Terminals:
    """All terminals, by the numbers of their channels."""

    def __init__(self, near: NearEnd, channels: Channels) -> None:
        self._near, self._channels = near, channels
        self._now = 0.0
        self.all: dict[int, Terminal] = {}

    def add(self, number: int, master: int, slave: int) -> None:
        """Add a terminal for which there is room."""
        channel = Channel(number, Passed.MASTER, master)
        self._channels.add(channel)
        self.all[number] = Terminal(channel, slave)

    def close(self, terminal: Terminal) -> None:
        """Close both sides and forget it."""
        terminal.close()
        del self.all[terminal.channel.number]
        self._channels.close(terminal.channel)

    def of_program(self, tag: int) -> Terminal | None:
        """Return the terminal of an EXEC."""
        found = (one for one in self.all.values() if one.channel.tag == tag)
        return next(found, None) if tag else None

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll; a hung-up terminal would always be ready."""
        takes_data = self._near.takes_data
        for one in self.all.values():
            channel = one.channel
            if self._now < one.hung_until:
                continue
            reads = channel.credit and takes_data
            if events := select.POLLIN * bool(reads) | select.POLLOUT * bool(channel.waiting):
                yield channel.fd, events, partial(self._ready, one)

    def due(self) -> float:
        """Return when `act` is to be called."""
        waiting = (one.hung_until for one in self.all.values() if one.hung_until > self._now)
        looks = (one.look_at for one in self.all.values())
        return min((*waiting, *(looks if self._near.takes_data else ())), default=NEVER)

    def act(self, now: float) -> None:
        """Look at the modes of terminals that moved a while ago."""
        self._now = now
        if not self._near.takes_data:
            return
        for one in self.all.values():
            if now >= one.look_at:
                one.look_at = NEVER
                one.look(self._near)

    def take(self, terminal: Terminal, data: bytes) -> None:
        """Type the near end's bytes. Raises `Garbled` beyond its credit."""
        terminal.look(self._near)
        self._channels.take(terminal.channel, data)
        self._moved(terminal)

    def read(self, terminal: Terminal) -> None:
        """Read one turn of output, and send it."""
        channel = terminal.channel
        if channel.closed or not channel.credit or not self._near.takes_data:
            return
        data, error = self._turn(channel.fd, min(channel.credit, MAX_DATA_BYTES))
        if data:
            terminal.look(self._near)
            channel.credit -= len(data)
            self._near.send_kind(Kind.DATA, channel.number, data)
            self._moved(terminal)
        if error:
            channel.undrained = False
        if error and not isinstance(error, BlockingIOError):
            terminal.hung_until = self._now + HUNG_RETRY_SECONDS
            self._near.send_kind(Kind.HANGUP, channel.number)

    def _turn(self, fd: int, most: int) -> tuple[bytes, OSError | None]:
        """Return what there is, in few frames, and what ended it."""
        pieces: list[bytes] = []
        count = 0
        try:
            while count < most:
                piece = os.read(fd, most - count)
                pieces.append(piece)
                count += len(piece)
                if len(piece) < FULL_PIECE:
                    break
        except OSError as error:
            return b"".join(pieces), error
        return b"".join(pieces), None

    def _moved(self, terminal: Terminal) -> None:
        terminal.look_at = self._now + LOOK_SECONDS

    def _ready(self, terminal: Terminal, seen: int) -> None:
        if terminal.channel.closed:
            return
        if terminal.channel.waiting and seen & ~select.POLLIN:
            terminal.look(self._near)
            self._channels.write(terminal.channel)
            self._moved(terminal)
        if not seen & ~select.POLLOUT:
            return
        if terminal.channel.credit and self._near.takes_data:
            self.read(terminal)
        elif seen & (select.POLLHUP | select.POLLERR):
            terminal.hung_until = self._now + HUNG_RETRY_SECONDS
