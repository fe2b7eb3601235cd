"""Packets both ways: descriptors become channels, and channels descriptors.

It also holds back the end of a program until its output was read, and names running terminals to
a near end that takes over.
"""

import errno
import os
import select
import socket
from collections.abc import Iterator

from atoll.inside.link.channels import Channel, Channels
from atoll.inside.link.files import Files
from atoll.inside.link.init import (
    EXEC,
    EXITED,
    FAILED,
    FDS,
    STARTED,
    InitProcess,
    Reply,
    failed,
    no_room,
    read_reply,
)
from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import Watch
from atoll.inside.link.terminals import Terminal, Terminals
from atoll.wire.link.frames import (
    FAR_CHANNELS,
    Garbled,
    Passed,
    PassedDescriptor,
    decode_packet,
    encode_packet,
)

MAX_MEMORY_BYTES = 8 * 1024 * 1024
MAX_PASSED = 4
ANYBODY = 0o666
"""The mode of pipes: the program's uid may be another, and opens them again as `/dev/stdout`."""


class Requests:
    """Requests to init, and its answers."""

    def __init__(
        self,
        near: NearEnd,
        init: InitProcess,
        channels: Channels,
        terminals: Terminals,
        files: Files,
    ) -> None:
        self._near, self._init = near, init
        self._channels, self._terminals, self._files = channels, terminals, files
        self._memories: dict[int, int] = {}
        self._held: list[tuple[int, bytes]] = []
        self._next = FAR_CHANNELS
        self.ended = False

    def next_number(self) -> int:
        """Return a number for a channel of this side."""
        number, self._next = self._next, self._next + 1
        return number

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll."""
        if self._init.closed:
            return
        reads = self._near.takes_packet and not self.ended
        events = select.POLLIN * reads | select.POLLOUT * self._init.congested
        if events:
            yield self._init.fileno(), events, self._ready

    def remember(self, number: int, data: bytes) -> None:
        """Append to a memory file, which a later packet passes. Raises `Garbled`."""
        fd = self._memories.get(number)
        if fd is None:
            if self._channels.room - len(self._memories) <= 0:
                return  # the packet that names it is refused
            fd = self._memories[number] = os.memfd_create("link", os.MFD_CLOEXEC)
        if os.fstat(fd).st_size + len(data) > MAX_MEMORY_BYTES:
            raise Garbled("a memory file that is too long")
        while data:
            data = data[os.write(fd, data) :]

    def drop_memory(self, number: int) -> None:
        """Close a memory file that no packet passed."""
        fd = self._memories.pop(number, None)
        if fd is not None:
            os.close(fd)

    def pass_on(self, payload: bytes) -> None:
        """Send init a packet of the near end's. Raises `Garbled`."""
        packet, passed = decode_packet(payload)
        head = read_reply(packet)
        if head is None or len(passed) > MAX_PASSED or (passed and head.op != EXEC):
            raise Garbled("a packet that init does not take")
        try:
            fds = self._made(head.tag, passed)
        except OSError as error:
            for one in passed:
                if one.kind is Passed.MEMORY:
                    self.drop_memory(one.channel)
            number = errno.EAGAIN if error.errno == errno.EMFILE else error.errno
            self._near.send(encode_packet(failed(head.tag, number or errno.EIO), ()))
            return
        self._note_program(head.tag, passed)
        if not self._init.send(packet, fds):
            self._note_program(0, passed)
            self._near.send(encode_packet(no_room(head.tag), ()))

    def _note_program(self, tag: int, passed: tuple[PassedDescriptor, ...]) -> None:
        """Note the program that a terminal has now; tag 0 for none."""
        for one in passed:
            terminal = self._terminals.all.get(one.channel)
            if one.kind is Passed.SLAVE and terminal is not None:
                terminal.channel.tag, terminal.pid, terminal.end = tag, 0, None

    def renew(self) -> None:
        """Close what belonged to the last near end, and name what runs on."""
        for number in list(self._memories):
            self.drop_memory(number)
        self._held.clear()
        for one in list(self._terminals.all.values()):
            if not one.channel.tag:
                self._terminals.close(one)
                continue
            one.renew()
            one.nameless = not one.pid
            if one.pid:
                self._near.send(one.adopted())
            if one.end is not None:
                one.channel.undrained = True
                self._held.append((one.channel.tag, one.end))

    def act(self, now: float) -> None:
        """Send the ends of programs whose output was read."""
        for tag, packet in list(self._held):
            channels = [one for one in self._channels.all.values() if one.tag == tag]
            for one in channels:
                self.drain(one)
            if self._near.takes_packet and not any(one.undrained for one in channels):
                self._held.remove((tag, packet))
                self._near.send(encode_packet(packet, ()))

    def drain(self, channel: Channel) -> None:
        """Read a channel until it is empty, or may send no more."""
        terminal = self._terminals.all.get(channel.number)
        before = -1
        while channel.undrained and channel.credit != before:
            before = channel.credit
            if terminal is None:
                self._channels.read(channel)
            else:
                self._terminals.read(terminal)

    # What the near end's packets carry.

    def _made(self, tag: int, passed: tuple[PassedDescriptor, ...]) -> list[int]:
        """Return descriptors for init. Raises `Garbled`, `OSError`."""
        distinct = dict.fromkeys(passed)
        numbers = [one.channel for one in distinct if one.kind is not Passed.NULL]
        if len(set(numbers)) < len(numbers):
            raise Garbled("one channel of two kinds")
        if self._channels.room < len(numbers):
            raise OSError(errno.EAGAIN, "channels")
        made: dict[PassedDescriptor, int] = {}
        fds: list[int] = []
        try:
            for one in distinct:
                made[one] = self._end(tag, one)
            fds += (os.dup(made[one]) for one in passed)
            return fds
        except OSError:
            for fd in fds:
                os.close(fd)
            self._undo(numbers)
            raise
        finally:
            for fd in made.values():
                os.close(fd)

    def _undo(self, numbers: list[int]) -> None:
        for number in numbers:
            channel = self._channels.all.get(number)
            if channel is not None and number not in self._terminals.all:
                self._channels.close(channel)

    def _end(self, tag: int, one: PassedDescriptor) -> int:
        match one.kind:
            case Passed.NULL:
                return os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            case Passed.MEMORY:
                fd = self._memories.pop(one.channel, None)
                if fd is None:
                    raise OSError(errno.EAGAIN, "memory")
                return fd
            case Passed.SLAVE:
                terminal = self._terminals.all.get(one.channel)
                if terminal is None:
                    raise OSError(errno.EBADF, "terminal")
                return terminal.program_side()
            case Passed.INPUT | Passed.OUTPUT | Passed.SOCKET:
                return self._new_channel(tag, one)
            case Passed.MASTER | Passed.FILE | Passed.LISTENER:
                raise Garbled("a descriptor that only this side sends")

    def _new_channel(self, tag: int, one: PassedDescriptor) -> int:
        if not 0 < one.channel < FAR_CHANNELS or one.channel in self._channels.all:
            raise Garbled("a channel's number that is used, or not the near end's")
        if one.kind is Passed.SOCKET:
            ours, theirs = socket.socketpair()
            mine, given = ours.detach(), theirs.detach()
        else:
            ends = os.pipe()
            os.fchmod(ends[0], ANYBODY)
            given, mine = ends if one.kind is Passed.INPUT else reversed(ends)
        channel = Channel(one.channel, one.kind, mine)
        channel.tag = tag
        self._channels.add(channel)
        return given

    # What init's packets bring.

    def _ready(self, seen: int) -> None:
        if self._init.closed:
            return
        self._init.flush()
        if not seen & ~select.POLLOUT:
            return
        try:
            packet, fds = self._init.receive()
        except BlockingIOError:
            return
        head = read_reply(packet)
        if head is None:
            self.ended = True
        else:
            self._answered(head, packet, fds)

    def _answered(self, head: Reply, packet: bytes, fds: list[int]) -> None:
        terminal = self._terminals.of_program(head.tag)
        if head.op == FDS:
            self._opened(head, packet, fds)
            return
        for fd in fds:
            os.close(fd)
        if head.op == EXITED:
            self._exited(head.tag, packet, terminal)
            return
        if terminal is None or head.op not in (STARTED, FAILED):
            self._near.send(encode_packet(packet, ()))
            return
        self._begun(head, packet, terminal)

    def _begun(self, head: Reply, packet: bytes, terminal: Terminal) -> None:
        """Note how a program on a terminal began, perhaps for a near end that is gone."""
        if head.op == STARTED:
            terminal.pid = head.a
        elif terminal.nameless:
            self._terminals.close(terminal)
            return
        else:
            terminal.channel.tag = 0
        adopted = terminal.nameless
        terminal.nameless = False
        self._near.send(terminal.adopted() if adopted else encode_packet(packet, ()))

    def _opened(self, head: Reply, packet: bytes, fds: list[int]) -> None:
        if not self._channels.room or len(fds) not in (1, 2):
            for fd in fds:
                os.close(fd)
            self._near.send(encode_packet(no_room(head.tag), ()))
            return
        number = self.next_number()
        kinds: tuple[Passed, ...]
        if len(fds) == 2:
            self._terminals.add(number, *fds)
            kinds = (Passed.MASTER, Passed.SLAVE)
        else:
            self._files.add(number, *fds)
            kinds = (Passed.FILE,)
        passed = tuple(PassedDescriptor(kind, number) for kind in kinds)
        self._near.send(encode_packet(packet, passed))

    def _exited(self, tag: int, packet: bytes, terminal: Terminal | None) -> None:
        if terminal is not None:
            if terminal.nameless:
                self._terminals.close(terminal)
                return
            terminal.end = packet
        for channel in self._channels.all.values():
            if channel.tag == tag:
                channel.undrained = channel.reads
        self._held.append((tag, packet))
