"""The far end: what each frame does, and the life of the sandbox from READY to its end."""

import os
import time
from collections.abc import Iterator
from enum import Enum

from atoll.inside.link.channels import Channel, Channels
from atoll.inside.link.connections import Connections
from atoll.inside.link.doors import Door, Doors, listed
from atoll.inside.link.files import Files
from atoll.inside.link.init import InitProcess
from atoll.inside.link.near import NearEnd
from atoll.inside.link.polling import NEVER, Watch
from atoll.inside.link.requests import Requests
from atoll.inside.link.terminals import Terminal, Terminals
from atoll.wire.link.frames import (
    FAR_CHANNELS,
    MAX_DATA_BYTES,
    Frame,
    Garbled,
    Kind,
    Passed,
    decode_number,
    decode_size,
    encode_packet,
)

LINGER_SECONDS = 5.0
"""The time for which a near end may still fetch the last words."""
LOOK_SECONDS = 0.02


class Life(Enum):
    """The states of the sandbox."""

    RUNNING = 1
    ENDING = 2
    ENDED = 3


class FarEnd:
    """All parts of the program, and the frames that move them."""

    def __init__(self, init: InitProcess, grace: float) -> None:
        packet, fds = init.ready()
        doors = [Door(fd) for fd in fds]
        self.near = NearEnd(encode_packet(packet, listed(doors)))
        self.near.on_frame = self._frame
        self.near.on_takeover = self._takeover
        self._init = init
        self._grace = grace
        self._channels = Channels(self.near)
        self._terminals = Terminals(self.near, self._channels)
        self._files = Files(self.near, self._channels)
        self._requests = Requests(self.near, init, self._channels, self._terminals, self._files)
        self._doors = Doors(self.near, self._channels, self._requests.next_number)
        self._doors.open(doors)
        self.connections: Connections
        self._phase = Life.RUNNING
        self._reason = ""
        self._hurried = False
        self._until = self._drain_until = NEVER

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll."""
        yield from self.connections.watched()
        if self._phase is Life.RUNNING:
            yield from self._requests.watched()
            yield from self._doors.watched()
        yield from self._channels.watched()
        yield from self._terminals.watched()

    def due(self) -> float:
        """Return when `act` is to be called."""
        parts = (self.near, self.connections, self._doors, self._terminals)
        lost_at = self.connections.lost_at
        grace = NEVER
        if self._phase is Life.RUNNING and lost_at is not None:
            grace = lost_at + self._grace
        return min(self._until, grace, *(part.due() for part in parts))

    def act(self, now: float) -> None:
        """Do what is due. Raises SystemExit at the end."""
        for part in (self.connections, self._doors, self._terminals):
            part.act(now)
        self._files.act()
        self._requests.act(now)
        self._channels.pay()
        self.near.act(now)
        self._live(now)

    def _live(self, now: float) -> None:
        if self._phase is Life.RUNNING:
            lost_at = self.connections.lost_at
            if self._requests.ended:
                self._end("the sandbox's init ended", now)
            elif lost_at is not None and now >= lost_at + self._grace:
                self._end(f"no near end was there for {self._grace:g} s", now)
        elif self._phase is Life.ENDING:
            self._until = now + LOOK_SECONDS
            if self._init.gone(now):
                self._drain_until = min(self._drain_until, now + LINGER_SECONDS)
                if self._drained() or not self._lingers(now) or now >= self._drain_until:
                    self._ended(now)
        elif now >= self._until or self.near.idle or not self._lingers(now):
            raise SystemExit(0)

    def _end(self, reason: str, now: float) -> None:
        self._phase = Life.ENDING
        self._reason = reason
        self._until = now
        self._init.close(now)

    def _drained(self) -> bool:
        """Return whether all that programs wrote is in the stream: nobody writes any more."""
        drained = True
        for channel in list(self._channels.all.values()):
            if channel.reads:
                channel.undrained = True
                self._requests.drain(channel)
                drained = drained and not channel.undrained
        return drained

    def _ended(self, now: float) -> None:
        """Send the last ends, and the last frame."""
        self._requests.act(now)
        self._reason += f" ({self._init.how()})"
        self.near.send_kind(Kind.ENDED, 0, self._reason.encode("utf-8", "replace"))
        self._phase = Life.ENDED
        self._until = now + (LINGER_SECONDS if self._lingers(now) else 0)

    def _lingers(self, now: float) -> bool:
        lost_at = self.connections.lost_at
        if self._hurried:
            return lost_at is None
        return self.near.seen and (lost_at is None or now < lost_at + self._grace)

    def _takeover(self) -> None:
        for channel in list(self._channels.all.values()):
            if channel.kind is not Passed.MASTER:
                self._close(channel)
        self._requests.renew()
        if self._phase is Life.ENDED:
            self.near.send_kind(Kind.ENDED, 0, self._reason.encode("utf-8", "replace"))

    # Frames of the near end. An unknown channel is one that was closed meanwhile.

    def _frame(self, frame: Frame) -> None:
        match frame.kind:
            case Kind.PACKET | Kind.MEMORY if self._phase is Life.RUNNING:
                self._on_request(frame)
            case Kind.PACKET | Kind.MEMORY:
                return
            case Kind.END:
                self._end_requested()
            case Kind.DATA | Kind.CREDIT | Kind.EOF | Kind.CLOSE:
                self._on_channel(frame)
            case Kind.SIZE | Kind.SIGNAL:
                self._on_terminal(frame)
            case Kind.READ | Kind.WRITE | Kind.STAT:
                self._on_file(frame)
            case _:
                raise Garbled(f"a frame of kind {frame.kind} from the near end")

    def _on_request(self, frame: Frame) -> None:
        if frame.kind == Kind.PACKET:
            self._requests.pass_on(frame.payload)
        else:
            self._requests.remember(frame.channel, frame.payload)

    def _on_file(self, frame: Frame) -> None:
        channel = self._channels.all.get(frame.channel)
        if channel is None:
            return
        if channel.kind is not Passed.FILE:
            raise Garbled("a request for a file on another channel")
        self._files.take(channel, frame)

    def end(self, reason: str) -> None:
        """End every process inside; only a near end that is there gets the last words."""
        self._hurried = True
        if self._phase is Life.RUNNING:
            self._end(reason, time.monotonic())

    def _end_requested(self) -> None:
        if self._phase is Life.RUNNING:
            self._end("the near end ended the sandbox", self.connections.now)

    def _on_channel(self, frame: Frame) -> None:
        number, payload = frame.channel, frame.payload
        if frame.kind == Kind.CLOSE and number < FAR_CHANNELS:
            self._requests.drop_memory(number)
        count = decode_number(payload) if frame.kind == Kind.CREDIT else len(payload)
        channel = self._channels.all.get(number)
        if frame.kind == Kind.DATA and count > MAX_DATA_BYTES:
            raise Garbled("a frame of data that is too long")
        if channel is None:
            return
        terminal = self._terminals.all.get(number)
        if frame.kind == Kind.CLOSE:
            self._close(channel)
        elif frame.kind == Kind.CREDIT:
            self._channels.credit(channel, count)
        elif frame.kind == Kind.EOF:
            self._channels.finish(channel)
        elif terminal is not None:
            self._terminals.take(terminal, payload)
        else:
            self._channels.take(channel, payload)

    def _on_terminal(self, frame: Frame) -> None:
        size = decode_size(frame.payload) if frame.kind == Kind.SIZE else (0, 0)
        number = decode_number(frame.payload) if frame.kind == Kind.SIGNAL else 0
        terminal: Terminal | None = self._terminals.all.get(frame.channel)
        if terminal is None:
            if frame.channel in self._channels.all:
                raise Garbled("a frame for a terminal on another channel")
        elif number:
            terminal.signal(number)
        elif frame.kind == Kind.SIZE:
            terminal.resize(*size)

    def _close(self, channel: Channel) -> None:
        terminal = self._terminals.all.get(channel.number)
        if terminal is not None:
            self._terminals.close(terminal)
        elif channel.kind is Passed.FILE:
            self._files.close(channel)
        else:
            self._channels.close(channel)


def said(text: str) -> None:
    """Print one line, where somebody still reads it."""
    try:
        os.write(1, f"{text}\n".encode())
    except OSError:
        return
