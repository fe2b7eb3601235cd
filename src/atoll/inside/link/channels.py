"""Channels that are pipes and sockets, and the table of all channels.

A channel has a credit for each direction. What a program does not take yet waits here, at most as
much as the near end was allowed to send.
"""

import os
import select
import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import Watch
from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    WINDOW_BYTES,
    Garbled,
    Kind,
    Passed,
    encode_credit,
)

MAX_CHANNELS = 1024


class Channel:
    """A descriptor that the near end has a number for."""

    def __init__(self, number: int, kind: Passed, fd: int) -> None:
        os.set_blocking(fd, False)
        self.number, self.kind, self.fd = number, kind, fd
        self.tag = 0
        self.credit = self.allowance = WINDOW_BYTES
        self.owed = 0
        self.waiting = bytearray()
        self.reads = kind in (Passed.OUTPUT, Passed.SOCKET, Passed.MASTER)
        self.writes = kind in (Passed.INPUT, Passed.SOCKET, Passed.MASTER)
        self.finishing = False
        self.deaf = False
        self.undrained = False

    @property
    def closed(self) -> bool:
        """True when the descriptor is closed."""
        return self.fd < 0

    def close(self) -> None:
        """Close the descriptor. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
        self.waiting.clear()
        self.undrained = False

    def renew(self) -> None:
        """Begin both credits anew, for another near end."""
        self.credit = self.allowance = WINDOW_BYTES
        self.owed = 0
        self.waiting.clear()


class Channels:
    """All channels by their numbers; it serves pipes and sockets."""

    def __init__(self, near: NearEnd) -> None:
        self._near = near
        self.all: dict[int, Channel] = {}

    @property
    def room(self) -> int:
        """Number of channels that may be added."""
        return MAX_CHANNELS - len(self.all)

    def add(self, channel: Channel) -> None:
        """Add a channel for which there is room."""
        self.all[channel.number] = channel

    def close(self, channel: Channel) -> None:
        """Close a channel and forget it."""
        channel.close()
        self.all.pop(channel.number, None)

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll."""
        takes_data = self._near.takes_data
        for channel in self.all.values():
            if channel.kind not in (Passed.INPUT, Passed.OUTPUT, Passed.SOCKET):
                continue
            reads = channel.reads and channel.credit and takes_data
            writes = channel.waiting and not channel.deaf
            if events := select.POLLIN * bool(reads) | select.POLLOUT * bool(writes):
                yield channel.fd, events, partial(self._ready, channel)

    def credit(self, channel: Channel, count: int) -> None:
        """Let a channel send more. Raises `Garbled` beyond a window."""
        channel.credit += count
        if channel.credit > WINDOW_BYTES:
            raise Garbled("more credit than one window")

    def take(self, channel: Channel, data: bytes) -> None:
        """Take the near end's bytes. Raises `Garbled` where it may not send them."""
        channel.allowance -= len(data)
        if not channel.writes or channel.finishing or channel.allowance < 0:
            raise Garbled("data that this channel does not take")
        channel.waiting += data
        if len(channel.waiting) == len(data):
            self.write(channel)

    def finish(self, channel: Channel) -> None:
        """End the near end's direction, once everything is written."""
        if channel.writes and channel.kind is not Passed.MASTER:
            channel.finishing = True
            if not channel.waiting:
                self._finished(channel)

    def write(self, channel: Channel) -> None:
        """Write what waits, as much as is taken."""
        if channel.deaf:
            return
        try:
            count = os.write(channel.fd, channel.waiting)
        except BlockingIOError:
            return
        except OSError:
            self._unheard(channel)
            return
        del channel.waiting[:count]
        channel.owed += count
        if channel.finishing and not channel.waiting:
            self._finished(channel)

    def read(self, channel: Channel) -> None:
        """Read once, and send it."""
        if channel.closed or not channel.credit or not self._near.takes_data:
            return
        try:
            data = os.read(channel.fd, min(channel.credit, MAX_DATA_BYTES))
        except BlockingIOError:
            channel.undrained = False
            return
        except OSError:
            data = b""
        if data:
            channel.credit -= len(data)
            self._near.send_kind(Kind.DATA, channel.number, data)
        else:
            self._ended(channel)

    def pay(self) -> None:
        """Give back the credit of what was taken, while somebody is there."""
        if not self._near.stream.connected or not self._near.stream.room:
            return
        for channel in self.all.values():
            if channel.owed:
                self._near.send(encode_credit(channel.number, channel.owed))
                channel.allowance += channel.owed
                channel.owed = 0

    def _ready(self, channel: Channel, seen: int) -> None:
        if channel.waiting and seen & ~select.POLLIN and not channel.closed:
            self.write(channel)
        if channel.reads and seen & ~select.POLLOUT:
            self.read(channel)

    def _finished(self, channel: Channel) -> None:
        channel.writes = False
        if channel.reads:
            with suppress(OSError), socket.socket(fileno=os.dup(channel.fd)) as one:
                one.shutdown(socket.SHUT_WR)
        else:
            self.close(channel)

    def _unheard(self, channel: Channel) -> None:
        """Note that nobody reads what is written; what a socket's other side wrote still counts,
        and a terminal may be opened again."""
        if channel.kind is Passed.MASTER:
            channel.owed += len(channel.waiting)
            channel.waiting.clear()
        elif channel.reads:
            channel.deaf = True
            channel.waiting.clear()
        else:
            self._near.send_kind(Kind.CLOSE, channel.number)
            self.close(channel)

    def _ended(self, channel: Channel) -> None:
        channel.reads = channel.undrained = False
        if channel.deaf:
            self._near.send_kind(Kind.CLOSE, channel.number)
            self.close(channel)
            return
        self._near.send_kind(Kind.EOF, channel.number)
        if not channel.writes:
            self.close(channel)
