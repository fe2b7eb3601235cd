"""The control line to an init of another machine: its packets, and channels for descriptors.

To the spawner a descriptor that came is the number of its channel. Descriptors of this process that
go out are duplicated and joined with channels; which way a pipe goes is read from the pipe itself.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

from atoll.domain.errors import Failed
from atoll.domain.wall.runtime_end import RuntimeEnd
from atoll.runtime.spawners.link.channel import Channel
from atoll.runtime.spawners.link.descriptors import Descriptors
from atoll.runtime.spawners.link.file import LinkedFile
from atoll.runtime.spawners.link.pump import Pump, Ways
from atoll.runtime.spawners.link.terminal import LinkedTerminal
from atoll.runtime.tasks import Tasks
from atoll.wire import init as wire
from atoll.wire.link.frames import (
    FAR_CHANNELS,
    IPV6,
    Adopted,
    Frame,
    Garbled,
    Kind,
    Passed,
    PassedDescriptor,
    decode_adopted,
    decode_number,
    decode_packet,
    encode_frame,
    encode_packet,
)

log = logging.getLogger("atoll.runtime")

MAX_CONNECTIONS = 600
"""Connections to doors that may be open; the doors' own limit is below it."""

MAX_EARLY = 1024
"""Packets that may come before there is a spawner: the ends of adopted programs."""

MAX_CHANNELS = 4096
"""Channels of one link, of both ends."""

MAX_UNKNOWN = 1000
"""Frames of kinds that this side does not know: a newer far end may send some, no more."""

_KINDS = frozenset(Kind)
_OURS = frozenset((Kind.SIZE, Kind.SIGNAL, Kind.MEMORY, Kind.READ, Kind.WRITE, Kind.STAT, Kind.END))
"""The kinds that only this side sends."""

Send = Callable[[bytes], None]


MakeProtocol = Callable[[], asyncio.Protocol]


class LinkedDoor:
    """A listener of the far side, whose connections the protocols of this side serve."""

    def __init__(self) -> None:
        self._make: MakeProtocol | None = None

    async def listen(self, make: MakeProtocol) -> None:
        """Serve connections by `make` from now on."""
        self._make = make

    def close(self) -> None:
        """Serve no more. Idempotent."""
        self._make = None

    @property
    def open(self) -> bool:
        """True while somebody serves it."""
        return self._make is not None

    async def connected(self, connection: socket.socket) -> None:
        """Serve a connection; the door owns it."""
        if self._make is None:
            connection.close()
            return
        with suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(self._make, connection)


class LinkLine:
    """`ControlLine` over the frames of a carrier. `send` writes a frame; the carrier's frames come
    in by `frame`, its end by `lost`. `cut_seconds` says for how long it has had no connection, 0
    while there is one. Made inside the running loop."""

    def __init__(
        self, send: Send, tasks: Tasks, *, cut_seconds: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._send = send
        self._cut_seconds = cut_seconds
        self._tasks = tasks
        self._on_packet: Callable[[bytes, list[int]], None] | None = None
        self._on_end: Callable[[], None] | None = None
        self._early: list[tuple[bytes, list[int]]] = []
        self._channels: dict[int, Channel] = {}
        self._terminals: dict[tuple[int, int], int] = {}
        self._outputs: dict[int, tuple[Pump, ...]] = {}
        self._held: dict[int, bytes] = {}
        self._doors: dict[int, LinkedDoor] = {}
        self._connections = 0
        self._unknown = 0
        self._descriptors = Descriptors(send, self._terminals, self._add_pump)
        self._newest = FAR_CHANNELS - 1
        self._over = False
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._adopted: list[tuple[LinkedTerminal, Adopted]] | None = []
        self.end_reason = ""
        self.end = RuntimeEnd.INIT_GONE

    async def ready(self) -> None:
        """Wait until init has said READY. Raises `Failed` when the link ends before."""
        await asyncio.shield(self._ready)

    def take_adopted(self) -> list[tuple[LinkedTerminal, Adopted]]:
        """Return the terminals that an earlier near end left running. Call it once, after an answer
        of init's: the far end names them before that. Later ones are closed."""
        adopted, self._adopted = self._adopted or [], None
        return adopted

    def door(self, port: int, *, ipv6: bool) -> LinkedDoor:
        """Return a door of the far side."""
        return self._doors.setdefault(port | (IPV6 if ipv6 else 0), LinkedDoor())

    # The spawner's side.

    def begin(
        self, on_packet: Callable[[bytes, list[int]], None], on_end: Callable[[], None]
    ) -> None:
        """Call `on_packet` for each packet from now on, and `on_end` once."""
        self._on_packet, self._on_end = on_packet, on_end
        for early in self._early:
            on_packet(*early)
        self._early.clear()
        if self._over:
            on_end()

    def send(self, packet: bytes, fds: tuple[int, ...] = ()) -> None:
        """Send a packet. Raises ConnectionError when the link is gone or full."""
        if self._over or len(self._channels) > MAX_CHANNELS - len(fds):
            raise ConnectionError("the link has ended, or has too many channels")
        tag = wire.HEADER.unpack_from(packet)[1]
        passed = self._descriptors.passed(fds)
        outputs = tuple(
            pump
            for descriptor in dict.fromkeys(passed)
            if descriptor.kind in (Passed.OUTPUT, Passed.SOCKET)
            and isinstance(pump := self._channels.get(descriptor.channel), Pump)
        )
        if outputs:
            self._outputs[tag] = outputs
        self._send(encode_packet(packet, passed))

    def pty(self, ends: list[int]) -> LinkedTerminal:
        """Return the terminal of two descriptors that came."""
        terminal = self._channels.get(ends[0])
        if isinstance(terminal, LinkedTerminal):
            return terminal
        raise Failed("the sandbox's link ended as a terminal was opened")

    def file(self, end: int) -> LinkedFile:
        """Return the file of a descriptor that came."""
        file = self._channels.get(end)
        if isinstance(file, LinkedFile):
            return file
        raise Failed("the sandbox's link ended as a file was opened")

    def drop(self, ends: Iterable[int]) -> None:
        """Close channels that came."""
        for number in set(ends):
            channel = self._channels.get(number)
            if channel is not None:
                self._send(encode_frame(Kind.CLOSE, number))
                channel.gone()

    def finish(self) -> None:
        """Ask the far end to end everything."""
        if not self._over:
            self._send(encode_frame(Kind.END, 0))

    def close(self) -> None:
        """Close our side. Idempotent."""
        self.lost("")

    def why_silent(self, seconds: float) -> str:
        """Return whether the link is cut, or init does not answer behind it."""
        if cut := self._cut_seconds():
            return (
                f"its machine is not reached: the link there has been cut for {cut:.0f} s. Its "
                "programs go on meanwhile, and are reached again once the machine is"
            )
        return (
            f"the sandbox's init did not answer over its link within {seconds:g} s; try again, or "
            "stop and start the sandbox"
        )

    # The carrier's side.

    def frame(self, frame: Frame) -> None:
        """Take a frame. Raises `Garbled`."""
        if self._over:
            return
        match frame.kind:
            case Kind.PACKET:
                self._packet(frame.payload)
            case Kind.ACCEPT:
                self._accept(frame.channel, decode_number(frame.payload))
            case Kind.ADOPT:
                self._adopt(frame.channel, decode_adopted(frame.payload))
            case Kind.ENDED:
                self.lost(frame.payload[:1024].decode("utf-8", "replace"))
            case _:
                self._pass_on(frame)

    def _pass_on(self, frame: Frame) -> None:
        """Give a frame to its channel; one that is closed is none's. Raises `Garbled`."""
        if frame.kind not in _KINDS:
            self._unknown += 1
            if self._unknown > MAX_UNKNOWN:
                raise Garbled(f"more than {MAX_UNKNOWN} frames of unknown kinds came")
        elif frame.kind in _OURS:
            raise Garbled(f"a frame of kind {frame.kind} came, which only this side sends")
        elif (channel := self._channels.get(frame.channel)) is not None:
            channel.frame(frame)

    def lost(self, reason: str, end: RuntimeEnd = RuntimeEnd.INIT_GONE) -> None:
        """Note the end of the link: everything inside counts as dead. Idempotent."""
        if self._over:
            return
        self._over = True
        self.end_reason, self.end = reason, end
        for channel in list(self._channels.values()):
            channel.gone()
        self._held.clear()
        if not self._ready.done():
            self._ready.set_exception(Failed(f"the sandbox did not start: {reason}"))
            self._ready.exception()  # seen, should nobody wait
        if self._on_end is not None:
            self._on_end()

    def _packet(self, payload: bytes) -> None:
        packet, passed = decode_packet(payload)
        try:
            reply = wire.decode_reply(packet)
        except wire.Garbled as error:
            raise Garbled(str(error)) from error
        match reply:
            case wire.Ready():
                if reply.version != wire.VERSION:
                    raise Garbled("init speaks another version of its protocol")
                if not self._ready.done():
                    self._ready.set_result(None)
            case wire.Refused(tag=0):
                self.lost(f"init could not begin: {os.strerror(reply.errno)}")
            case wire.Exited(tag=tag) if not self._is_flushed(tag):
                self._held[tag] = packet
            case wire.Exited(tag=tag) | wire.Refused(tag=tag):
                self._outputs.pop(tag, None)
                self._deliver(packet, [])
            case _:
                self._deliver(packet, [self._open_channel(descriptor) for descriptor in passed])

    def _deliver(self, packet: bytes, ends: list[int]) -> None:
        if self._on_packet is None and len(self._early) >= MAX_EARLY:
            raise Garbled("packets came before anything was asked")
        if self._on_packet is None:
            self._early.append((packet, ends))
        else:
            self._on_packet(packet, ends)

    def _open_channel(self, descriptor: PassedDescriptor) -> int:
        """Return the channel of a received descriptor, and make its object here."""
        if descriptor.kind is Passed.SLAVE:
            return descriptor.channel
        self._admit(descriptor.channel)
        if descriptor.kind is Passed.MASTER:
            self._open_terminal(descriptor.channel)
        elif descriptor.kind is Passed.FILE:
            file = LinkedFile(descriptor.channel, write=self._send, on_end=self._remove_channel)
            self._channels[descriptor.channel] = file
        else:
            raise Garbled(f"a descriptor of kind {descriptor.kind} came")
        return descriptor.channel

    def _open_terminal(self, number: int) -> LinkedTerminal:
        terminal = LinkedTerminal(number, write=self._send, on_end=self._remove_channel)
        self._channels[number] = terminal
        self._terminals[terminal.identity] = number
        return terminal

    def _admit(self, number: int) -> None:
        """Check the number of a channel that the far end makes: they only rise."""
        if number <= self._newest or len(self._channels) >= MAX_CHANNELS:
            raise Garbled(f"the far end made channel {number} again, or too many")
        self._newest = number

    def _adopt(self, number: int, adopted: Adopted) -> None:
        self._admit(number)
        if self._adopted is None:
            self._send(encode_frame(Kind.CLOSE, number))
        else:
            self._adopted.append((self._open_terminal(number), adopted))

    def _accept(self, number: int, key: int) -> None:
        self._admit(number)
        door = self._doors.get(key)
        if door is None or not door.open or self._connections >= MAX_CONNECTIONS:
            self._send(encode_frame(Kind.CLOSE, number))
            return
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._connections += 1
        self._channels[number] = Pump(
            number,
            theirs.detach(),
            Ways(reads=True, writes=True),
            write=self._send,
            on_end=self._remove_connection,
        )
        self._tasks.spawn(door.connected(ours), "door")

    def _remove_connection(self, number: int) -> None:
        """Forget a connection and its channel."""
        self._connections -= 1
        self._remove_channel(number)

    def _remove_channel(self, number: int) -> None:
        """Forget a channel, and its terminal when it has one."""
        channel = self._channels.pop(number, None)
        if isinstance(channel, LinkedTerminal):
            self._terminals.pop(channel.identity, None)

    def _add_pump(self, number: int, fd: int, ways: Ways) -> None:
        """Join a descriptor, which the pump owns from now on, with a new channel."""
        pump = Pump(number, fd, ways, write=self._send, on_end=self._remove_channel)
        pump.on_flushed = self._release_exits
        self._channels[number] = pump

    # Output comes before the end.

    def _is_flushed(self, tag: int) -> bool:
        """Report whether all output of a process was sent."""
        return all(pump.flushed for pump in self._outputs.get(tag, ()))

    def _release_exits(self) -> None:
        for tag in [tag for tag in self._held if self._is_flushed(tag)]:
            self._outputs.pop(tag, None)
            self._deliver(self._held.pop(tag), [])
