"""A terminal's output as viewers may read it: the ring, and where reading may begin.

Questions to the terminal are blanked with NULs of the same length (terminals ignore NUL). So no
viewer answers an old question, and every offset stays true. The driver reads fresh ones unchanged.
Nothing here knows who is attached.
"""

from bisect import bisect_left, bisect_right
from collections import deque

from atoll.wire.terminal.modes import Modes
from atoll.wire.terminal.query import Query
from atoll.wire.terminal.ring import Ring
from atoll.wire.terminal.scanner import MAX_SEQUENCE, Cut, Scanner

MIN_CAPACITY = 2 * MAX_SEQUENCE
CUTS = 32
"""The approximate number of places at which a replay of a full ring may begin."""
MIN_STRIDE = 4096
"""The fewest bytes between two places: closer ones cost more than they gain."""
MAX_HELD_BYTES = 64
"""The longest unfinished sequence that is held back until its end, since it may become a question.
None of the questions is longer."""
MAX_FRESH = 64
"""The number of unblanked questions kept for the driver; further ones are not answered."""
REDRAWN = 4
"""Rows of a normal screen are sought that many times over, since programs redraw them."""
_CLEARS = (b"\x1b[2J", b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h")
_NOWHERE = (-1, 0)


class Scrollback:
    """The ring and scanner of one terminal, fed together."""

    __slots__ = (
        "_cuts",
        "_finished",
        "_fresh",
        "_ring",
        "_scanner",
        "_shared",
        "_shared_place",
        "_spacing",
        "_stride",
    )

    def __init__(self, capacity: int) -> None:
        """Create a scrollback of `capacity` bytes; a small one could not hold the longest
        sequence."""
        if capacity < MIN_CAPACITY:
            raise ValueError(f"a scrollback needs {MIN_CAPACITY} bytes, got {capacity}")
        self._ring = Ring(capacity)
        self._scanner = Scanner()
        self._spacing = capacity // CUTS
        self._stride = max(self._spacing, MIN_STRIDE)
        self._cuts: deque[Cut] = deque([self._scanner.cut()])
        self._fresh: deque[tuple[int, bytes]] = deque(maxlen=MAX_FRESH)
        self._finished = False
        self._shared_place, self._shared = _NOWHERE, b""

    @classmethod
    def resumed(cls, capacity: int, offset: int, *, preamble: bytes, data: bytes) -> "Scrollback":
        """Return the scrollback that goes on after `data`, which begins at `offset` with the
        settings of `preamble`: what `newest` returned."""
        resumed = cls(capacity)
        resumed._ring = Ring(capacity, offset)
        resumed._scanner.end = offset - len(preamble)
        resumed._scanner.feed(preamble)
        resumed._cuts = deque([resumed._scanner.cut()])
        resumed.append(data)
        return resumed

    @property
    def start(self) -> int:
        """The oldest offset that can be read."""
        return self._ring.start

    @property
    def end(self) -> int:
        """The number of bytes ever appended."""
        return self._ring.end

    @property
    def modes(self) -> Modes:
        """The present settings of the terminal."""
        return self._scanner.modes

    @property
    def ready(self) -> int:
        """The offset up to which viewers may read now."""
        unfinished = self._scanner.unfinished
        held = unfinished if unfinished <= MAX_HELD_BYTES and not self._finished else 0
        return self._ring.end - held

    def append(self, data: bytes) -> tuple[Query, ...]:
        """Append output; return the questions in it, oldest first."""
        self.forget()
        if len(data) <= self._stride:
            queries = self._scan(data)
        else:
            # A cut can only be where one feed of the scanner ends: not too far from the last.
            pieces = range(0, len(data), self._stride)
            scanned = [self._scan(data[at : at + self._stride]) for at in pieces]
            queries = tuple(query for some in scanned for query in some)
        self._ring.append(data)
        for query in queries:
            self._blank(query)
        start = self._ring.start
        while self._cuts[0].offset < start and len(self._cuts) > 1:
            self._cuts.popleft()
        return queries

    def forget(self) -> None:
        """Drop the bytes read last, which are kept because all viewers of a flood read the same
        ones. Call it when every viewer has read all output."""
        self._shared_place, self._shared = _NOWHERE, b""

    def finish(self) -> None:
        """End the output: an unfinished sequence at the end is read as it is."""
        self._finished = True

    def first_cut(self) -> Cut:
        """Return where a whole replay begins."""
        return self._cut_from(self._ring.start)

    def middle_cut(self) -> Cut:
        """Return where a slow viewer resumes: enough to see, and enough room not to fall behind at
        once."""
        return self._cut_from((self._ring.start + self._ring.end) // 2)

    def screen(self, rows: int) -> bytes:
        """Return bytes that draw the present screen of so many rows on any terminal.

        It is a replay, so some of what scrolled away comes with it, but little: the last rows of a
        shell, and of a full-screen program what it drew since it cleared the screen. A program that
        drew longer ago than the ring reaches has to repaint.
        """
        start = self._ring.start
        data = self._ring.read(start, self._ring.capacity)
        if self.modes.alternate:
            at = max(data.rfind(clear) for clear in _CLEARS)
        else:
            at = len(data)
            # Lines that were redrawn in place count each time.
            for _ in range(rows * REDRAWN):
                at = data.rfind(b"\n", 0, at)
                if at < 0:
                    break
        cut = self._cut_before(start + at) if at >= 0 else self.first_cut()
        return cut.preamble() + data[cut.offset - start :]

    def newest(self, most: int) -> tuple[int, bytes, bytes]:
        """Return the newest output, at most about `most` bytes: its offset, bytes that bring an
        emulator to the settings there, and the output."""
        at = max(self._ring.start, self._ring.end - most)
        whole = (cut for cut in self._cuts if cut.offset >= at and not cut.reopened)
        cut = next(whole, self._scanner.cut())
        return cut.offset, cut.preamble(), self._ring.read(cut.offset, self._ring.capacity)

    def read(self, offset: int, limit: int, *, fresh_from: int | None = None) -> bytes:
        """Return up to `limit` bytes from `offset` to `ready`.

        With `fresh_from`, questions asked at or after that offset are as the program wrote them.
        Raises `ValueError` off the ring.
        """
        count = min(limit, max(0, self.ready - offset))
        if (offset, count) == self._shared_place:
            data = self._shared
        else:
            data = self._ring.read(offset, count)
            self._shared_place, self._shared = (offset, count), data
        if fresh_from is None or not self._fresh or not data:
            return data
        return self._patch_fresh(offset, data, fresh_from)

    def _scan(self, data: bytes) -> tuple[Query, ...]:
        queries = self._scanner.feed(data)
        if self._scanner.settled - self._cuts[-1].offset >= self._spacing:
            self._cuts.append(self._scanner.cut())
        return queries

    def _blank(self, query: Query) -> None:
        size = query.end - query.start
        if size <= MAX_HELD_BYTES and query.start >= self._ring.start:
            self._fresh.append((query.start, self._ring.read(query.start, size)))
            self._ring.blank(query.start, query.end)

    def _patch_fresh(self, offset: int, data: bytes, fresh_from: int) -> bytes:
        """Return the data with queries at or after `fresh_from` as the program wrote them."""
        patched: bytearray | None = None
        for start, text in self._fresh:
            low, high = max(start, offset), min(start + len(text), offset + len(data))
            if start >= fresh_from and low < high:
                patched = patched or bytearray(data)
                patched[low - offset : high - offset] = text[low - start : high - start]
        return data if patched is None else bytes(patched)

    def _cut_before(self, offset: int) -> Cut:
        """Return the last cut at or before `offset`, or the first one."""
        at = bisect_right(self._cuts, offset, key=lambda cut: cut.offset)
        return self._cuts[at - 1] if at else self.first_cut()

    def _cut_from(self, offset: int) -> Cut:
        """Return the first cut at or after `offset`, or the present one."""
        at = bisect_left(self._cuts, offset, key=lambda cut: cut.offset)
        if at < len(self._cuts):
            return self._cuts[at]
        return self._scanner.cut()
