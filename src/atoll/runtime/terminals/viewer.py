"""One connection that watches a terminal: a cursor, and a sender that pulls from the ring.

There is no queue of output. What a slow connection misses falls off the ring, and it is
told so. Sends are coalesced here, apart from reading, which is never delayed for them.
"""

import asyncio
from typing import Protocol

import msgspec

from atoll.domain.terminal.mark import MarkLog
from atoll.domain.terminal.turn import Party
from atoll.runtime.terminals.connection import Link
from atoll.wire.attach import Exited, Resync, ServerMessage, pack
from atoll.wire.scrollback import Scrollback

FRAME_BYTES = 64 * 1024
FLUSH_BYTES = 48 * 1024
FLUSH_SECONDS = 0.002
RESYNC_SECONDS = 1.0
"""A viewer that cannot keep up is resynced at most this often: it sees a picture a second."""

CLOSE_ENDED = 1000
CLOSE_FAILED = 1011
CLOSE_SUPERSEDED = 4000
CLOSE_EXPIRED = 4401
CLOSE_UNKNOWN = 4404
CLOSE_SILENT = 4408


class Source(Protocol):
    """What a viewer needs to know of its terminal."""

    @property
    def scrollback(self) -> Scrollback:
        """The output."""
        ...

    @property
    def marks(self) -> MarkLog:
        """The commands its shell told of."""
        ...

    @property
    def ending(self) -> Exited | None:
        """The last message, once the terminal has ended."""
        ...

    def drives(self, viewer: "Viewer") -> bool:
        """Whether this viewer's client is the driver."""
        ...

    def resynced(self, viewer: "Viewer") -> None:
        """The viewer skipped to its cursor."""
        ...


class Viewer:
    """`cursor` is the offset of the next byte to send, `marked` the `seq` of the last mark sent
    (None: marks are not wanted). Only the newest message of each kind
    waits to be sent, so a stuck connection costs no memory."""

    def __init__(self, party: Party, connection: Link, source: Source) -> None:
        self.party = party
        self.client = party.client
        self.cursor = 0
        self.marked: int | None = None
        self.live_from = source.scrollback.end
        self.connection = connection
        self._source = source
        self._notices: dict[type[ServerMessage], ServerMessage] = {}
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._flushed = 0.0
        self._resynced = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def notify(self, message: ServerMessage) -> None:
        """Send `message` before the next bytes; a newer one of its kind replaces it."""
        self._notices.pop(type(message), None)
        self._notices[type(message)] = message
        self._wake.set()

    def poke(self) -> None:
        """There is more to read. Wakes the sender at once when it is idle or enough has come,
        else when the time of the next flush is there."""
        if self._wake.is_set():
            return
        now = self._loop.time()
        due = self._flushed + FLUSH_SECONDS
        if now >= due or self._source.scrollback.ready - self.cursor >= FLUSH_BYTES:
            self._wake.set()
        elif self._timer is None:
            self._timer = self._loop.call_at(due, self._ring)

    def finish(self) -> None:
        """The terminal has ended: send what is left, then say so."""
        self._wake.set()

    async def run(self) -> None:
        """Send until the terminal ends or the connection does (`ConnectionError`)."""
        try:
            while not await self._send_some():
                await self._wake.wait()
        finally:
            if self._timer is not None:
                self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        self._wake.set()

    async def _send_some(self) -> bool:
        """Send everything there is now; True once the end has been sent."""
        self._wake.clear()
        while True:
            await self._send_notices()
            scrollback = self._source.scrollback
            if self.cursor < scrollback.start:
                await self._resync()
                continue
            fresh_from = self.live_from if self._source.drives(self) else None
            data = scrollback.read(self.cursor, FRAME_BYTES, fresh_from=fresh_from)
            if not data:
                break
            self.cursor += len(data)
            self._flushed = self._loop.time()
            await self.connection.send(data)
            await self._send_marks()
        ending = self._source.ending
        if ending is None or self.cursor < self._source.scrollback.end:
            return False
        await self._send_notices()
        await self._send_marks()
        await self.connection.tell(ending)
        await self.connection.close(CLOSE_ENDED, "ended")
        return True

    async def _send_notices(self) -> None:
        while self._notices:
            kind = next(iter(self._notices))
            await self.connection.tell(self._notices.pop(kind))

    async def _send_marks(self) -> None:
        """Marks have a cursor, too: a stuck connection finds the newest ones later."""
        while self.marked is not None and (marks := self._source.marks.since(self.marked)):
            self.marked = marks[0].seq
            await self.connection.send_text(msgspec.json.encode(marks[0]).decode())

    async def _resync(self) -> None:
        """Skip what is gone, at a place where a terminal can be put into the right state."""
        await asyncio.sleep(max(0.0, self._resynced + RESYNC_SECONDS - self._loop.time()))
        self._resynced = self._loop.time()
        cut = self._source.scrollback.middle_cut()
        message = Resync(self.cursor, cut.offset, pack(cut.preamble()))
        self.cursor = cut.offset
        self._source.resynced(self)
        await self.connection.tell(message)
