"""Connection that watches a terminal: a cursor, and a pump that sends from the ring.

There is no queue of output, and one way to send it: `_pump` sends what there is for as long as the
connection is roomy. New output, a notice, room and a deadline each call it. So a connection that
keeps up has an echo as soon as it was read, and a slow one costs nothing until it has room. Output
it misses falls off the ring, and the viewer is notified.
"""

import asyncio
import logging
from dataclasses import dataclass
from typing import Protocol

import msgspec

from atoll.domain.terminals.mark import MarkLog
from atoll.domain.terminals.turn import Party
from atoll.runtime.clock import Alarm
from atoll.runtime.terminals.viewers.link import Link
from atoll.wire.attach import Exited, InputTaken, Resync, ServerMessage, encode, pack
from atoll.wire.http.ws_frames import Opcode
from atoll.wire.terminal.scrollback import Scrollback

log = logging.getLogger("atoll.runtime")

FRAME_BYTES = 64 * 1024
FLUSH_BYTES = 60 * 1024
FLUSH_SECONDS = 0.002
"""Output that follows other output is gathered: so much, or so long."""
RESYNC_SECONDS = 1.0
"""A viewer that cannot keep up is resynced at most this often: it sees a picture a second."""

INPUT_WINDOW_BYTES = 128 * 1024
"""A client may have sent so many bytes that neither went to the program nor were refused. Two
clients that use all of it fit into what may wait."""
INPUT_REPORT_BYTES = INPUT_WINDOW_BYTES // 8
"""Reported this often, so that a keystroke costs no report and a window never closes for want
of one."""

CLOSE_ENDED = 1000
CLOSE_FAILED = 1011
CLOSE_SUPERSEDED = 4000
CLOSE_EXPIRED = 4401
CLOSE_UNKNOWN = 4404
CLOSE_SILENT = 4408
CLOSE_SANDBOX_ENDED = 4410


class OutputSource(Protocol):
    """Source of a viewer's output: the properties of the terminal that a viewer uses."""

    @property
    def scrollback(self) -> Scrollback:
        """The output."""
        ...

    @property
    def marks(self) -> MarkLog:
        """The commands its shell reported."""
        ...

    @property
    def ending(self) -> Exited | None:
        """The last message, once the terminal has ended."""
        ...

    def drives(self, viewer: "Viewer") -> bool:
        """Return whether this viewer's client is the driver."""
        ...

    def resynced(self, viewer: "Viewer") -> None:
        """Report that the viewer skipped to its cursor."""
        ...


@dataclass(frozen=True, slots=True)
class ViewerOptions:
    """Options of a viewer. `cursor` is the offset of its first byte, `marked` the `seq` of the last
    mark it has (None: marks are not wanted). `guest`: its client came by a link."""

    cursor: int
    marked: int | None
    guest: bool


class Viewer:
    """Viewer of a terminal; `guest` says that this client came by a link.

    `cursor` is the offset of the next byte to send, `marked` the `seq` of the last mark sent
    (None: marks are not wanted). Only the newest message of each kind waits to be sent, so a
    stuck connection costs no memory. Nothing is sent before `begin`.
    """

    def __init__(
        self, party: Party, link: Link, source: OutputSource, options: ViewerOptions
    ) -> None:
        self.party = party
        self.client = party.client
        self.guest = options.guest
        self.cursor = options.cursor
        self.marked = options.marked
        self.live_from = source.scrollback.end
        self.link = link
        self._source = source
        self._notices: dict[type[ServerMessage], ServerMessage] = {}
        self._loop = asyncio.get_running_loop()
        self._begun = False
        self._marks_next = False
        self._called = False
        self._input_taken = self._input_reported = 0
        self._flush_at = 0.0
        self._resync_at = 0.0
        self._alarm = Alarm(self.pump)

    def begin(self, *opening: ServerMessage) -> None:
        """Send these first, then everything there is."""
        for message in opening:
            self._tell(message)
        self._begun = True
        self.pump()

    def notify(self, message: ServerMessage) -> None:
        """Send `message` before the next bytes; a newer one of its kind replaces it. It goes out
        at the loop's next turn: of several that one cause makes, the last of a kind will do."""
        self._notices.pop(type(message), None)
        self._notices[type(message)] = message
        if not self._called:
            self._called = True
            self._loop.call_soon(self._answer_call)

    def poke(self, ready: int, now: float) -> None:
        """Send output up to `ready`. It is sent at once when enough has come or little was sent
        lately, else at the next flush."""
        if ready - self.cursor >= FLUSH_BYTES or now >= self._flush_at:
            self.pump()
        elif self.link.roomy:
            self._alarm.set(self._flush_at)

    def typed(self) -> None:
        """Send the next output at once: the person here waits for an echo."""
        self._flush_at = 0.0

    def input_taken(self, count: int) -> None:
        """Count bytes from here that went to the program, or were refused."""
        self._input_taken += count
        if self._input_taken - self._input_reported >= INPUT_REPORT_BYTES:
            self._input_reported = self._input_taken
            self.notify(InputTaken(self._input_taken))

    def leave(self) -> None:
        """End the connection."""
        self._alarm.cancel()

    def pump(self) -> None:
        """Send all there is, as far as the connection takes it."""
        if not self._begun:
            return
        try:
            self._pump()
        except Exception:
            # The root of sending: one connection's defect must not end the terminal.
            log.exception("sending to client %s broke", self.client)
            self.link.end(CLOSE_FAILED, "the runtime's log says why")

    def _answer_call(self) -> None:
        self._called = False
        self.pump()

    def _pump(self) -> None:
        source, scrollback, link = self._source, self._source.scrollback, self.link
        while link.roomy:
            if self._notices:
                self._tell(self._notices.pop(next(iter(self._notices))))
            elif self.cursor < scrollback.start:
                if not self._resync():
                    return
            elif not self._send_next():
                if source.ending is not None and self.cursor >= scrollback.end:
                    self._tell(source.ending)
                    link.end(CLOSE_ENDED, "ended")
                return

    def _send_next(self) -> bool:
        """Send a frame of output, then the marks there are by then, and so on in turn."""
        if self._marks_next and self._send_mark():
            return True
        sent = self._send_output()
        self._marks_next = sent and self.marked is not None
        return sent or self._send_mark()

    def _send_output(self) -> bool:
        """Send the next frame of output, if there is one."""
        source = self._source
        if self.cursor >= source.scrollback.ready:
            return False
        fresh_from = self.live_from if source.drives(self) else None
        data = source.scrollback.read(self.cursor, FRAME_BYTES, fresh_from=fresh_from)
        self.cursor += len(data)
        self._flush_at = self._loop.time() + FLUSH_SECONDS
        self.link.send(Opcode.BINARY, data)
        return True

    def _send_mark(self) -> bool:
        """Send a mark. Marks have a cursor, too: a stuck connection finds the newest ones later."""
        marks = self._source.marks.since(self.marked) if self.marked is not None else ()
        if not marks:
            return False
        self.marked = marks[0].seq
        self.link.send(Opcode.TEXT, msgspec.json.encode(marks[0]))
        return True

    def _resync(self) -> bool:
        """Skip what is gone, at a place where a terminal can be put into the right state; not
        too often."""
        now = self._loop.time()
        if now < self._resync_at:
            self._alarm.set(self._resync_at)
            return False
        self._resync_at = now + RESYNC_SECONDS
        cut = self._source.scrollback.middle_cut()
        message = Resync(self.cursor, cut.offset, pack(cut.preamble()))
        self.cursor = cut.offset
        self._source.resynced(self)
        self._tell(message)
        return True

    def _tell(self, message: ServerMessage) -> None:
        self.link.send(Opcode.TEXT, encode(message).encode())
