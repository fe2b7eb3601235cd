"""Descriptors of this process that go to the far side, by the channels that stand for them.

Which way a pipe goes is read from the pipe itself. A terminal is known by its stand-in.
"""

import fcntl
import os
import stat
from collections.abc import Callable, Mapping

from atoll.runtime.spawners.link.channel import Write
from atoll.runtime.spawners.link.pump import Ways
from atoll.runtime.spawners.link.terminal import identity_of
from atoll.wire.link.frames import (
    MAX_DATA_BYTES,
    Kind,
    Passed,
    PassedDescriptor,
    encode_frame,
)

Join = Callable[[int, int, Ways], None]
"""Joins a channel of this number with a descriptor, which is the caller's no more."""


class Descriptors:
    """The channels that this side makes. `terminals` are the far side's, by the identity of their
    stand-ins."""

    def __init__(self, write: Write, terminals: Mapping[tuple[int, int], int], join: Join) -> None:
        self._send = write
        self._terminals = terminals
        self._join = join
        self._next = 0

    def passed(self, fds: tuple[int, ...]) -> tuple[PassedDescriptor, ...]:
        """Return what stands for these: the same open file twice is one channel twice. Raises
        `OSError` for one that is closed."""
        known: dict[tuple[int, int], PassedDescriptor] = {}
        descriptors = []
        for fd in fds:
            identity = identity_of(fd)
            if identity not in known:
                known[identity] = self._stand_in(fd, identity)
            descriptors.append(known[identity])
        return tuple(descriptors)

    def _stand_in(self, fd: int, identity: tuple[int, int]) -> PassedDescriptor:
        terminal = self._terminals.get(identity)
        if terminal is not None:
            return PassedDescriptor(Passed.SLAVE, terminal)
        mode = os.fstat(fd).st_mode
        access = fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE
        if stat.S_ISCHR(mode):
            return PassedDescriptor(Passed.NULL)
        if stat.S_ISREG(mode):
            return PassedDescriptor(Passed.MEMORY, self._remember(fd))
        if stat.S_ISSOCK(mode):
            return self._pump(fd, Passed.SOCKET, Ways(reads=True, writes=True))
        if access == os.O_RDONLY:
            return self._pump(fd, Passed.INPUT, Ways(reads=True, writes=False))
        return self._pump(fd, Passed.OUTPUT, Ways(reads=False, writes=True))

    def _pump(self, fd: int, kind: Passed, ways: Ways) -> PassedDescriptor:
        number = self._next_number()
        self._join(number, fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3), ways)
        return PassedDescriptor(kind, number)

    def _remember(self, fd: int) -> int:
        """Send the content of a memory file; it has no object here, since it only goes out."""
        number = self._next_number()
        at = 0
        while data := os.pread(fd, MAX_DATA_BYTES, at):
            self._send(encode_frame(Kind.MEMORY, number, data))
            at += len(data)
        return number

    def _next_number(self) -> int:
        self._next += 1
        return self._next
