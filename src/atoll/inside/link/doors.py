"""The doors: init's listeners, whose connections are accepted here and served by the near end."""

import select
import socket
from collections.abc import Callable, Iterator
from functools import partial

from atoll.inside.link.channels import Channel, Channels
from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import NEVER, Watch
from atoll.wire.link.frames import IPV6, Kind, Passed, PassedDescriptor

BACKLOG_SECONDS = 8.0
"""The time for which a connection waits for a near end."""
FULL_SECONDS = 0.1
"""The pause after accepting failed, as no descriptor was left."""


class Door:
    """Listener on one port and family."""

    def __init__(self, fd: int) -> None:
        self.listener = socket.socket(fileno=fd)
        self.listener.setblocking(False)
        ipv6 = self.listener.family == socket.AF_INET6
        self.number: int = self.listener.getsockname()[1] | (IPV6 if ipv6 else 0)
        self.drop_at = NEVER
        self.pause_until = 0.0


class Doors:
    """All doors."""

    def __init__(self, near: NearEnd, channels: Channels, next_number: Callable[[], int]) -> None:
        self._near, self._channels, self._next_number = near, channels, next_number
        self._all: list[Door] = []
        self._now = 0.0

    def open(self, doors: list[Door]) -> None:
        """Serve these from now on."""
        self._all = doors

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll: without a near end, the first connection that waits."""
        served = self._near.stream.connected
        for door in self._all:
            wanted = self._near.takes_data if served else door.drop_at == NEVER
            if wanted and self._now >= door.pause_until:
                yield door.listener.fileno(), select.POLLIN, partial(self._ready, door)

    def due(self) -> float:
        """Return when `act` is to be called."""
        pauses = (one.pause_until for one in self._all if one.pause_until > self._now)
        return min((*pauses, *(one.drop_at for one in self._all)), default=NEVER)

    def act(self, now: float) -> None:
        """Close connections that waited too long."""
        self._now = now
        for door in self._all:
            if self._near.stream.connected:
                door.drop_at = NEVER
            elif now >= door.drop_at:
                door.drop_at = NEVER
                while (one := self._accepted(door)) is not None:
                    one.close()

    def _ready(self, door: Door, _: int) -> None:
        if not self._near.stream.connected:
            if door.drop_at == NEVER:
                door.drop_at = self._now + BACKLOG_SECONDS
            return
        accepted = self._accepted(door)
        if accepted is None:
            return
        if not self._channels.room:
            accepted.close()
            return
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        channel = Channel(self._next_number(), Passed.SOCKET, accepted.detach())
        self._channels.add(channel)
        number = door.number.to_bytes(4, "little")
        self._near.send_kind(Kind.ACCEPT, channel.number, number)

    def _accepted(self, door: Door) -> socket.socket | None:
        try:
            return door.listener.accept()[0]
        except BlockingIOError:
            return None
        except OSError:
            door.pause_until = self._now + FULL_SECONDS
            return None


def listed(doors: list[Door]) -> tuple[PassedDescriptor, ...]:
    """Return what READY says of these doors."""
    return tuple(PassedDescriptor(Passed.LISTENER, door.number) for door in doors)
