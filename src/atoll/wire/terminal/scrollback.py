"""A terminal's output as viewers may read it: the ring, and where reading may begin.

Questions to the terminal are blanked with NULs of the same length (terminals ignore NUL),
so that no viewer answers an old one and every offset stays true; the driver reads fresh
ones as they were. Nothing here knows who is attached.
"""

from bisect import bisect_left
from collections import deque

from atoll.wire.terminal.modes import Modes
from atoll.wire.terminal.query import Query
from atoll.wire.terminal.ring import Ring
from atoll.wire.terminal.scanner import MAX_SEQUENCE, Cut, Scanner

MIN_CAPACITY = 2 * MAX_SEQUENCE
CUTS = 32
"""About how many places a full ring offers to begin at."""
MIN_STRIDE = 4096
"""Fewer bytes at a time cost more than a nearer place is worth."""
MAX_HELD_BYTES = 64
"""An unfinished sequence up to this long waits for its end before viewers see it: it may turn
out to be a question. None of the questions is longer."""
MAX_FRESH = 64
"""Unblanked questions kept for the driver; a program that asks more is not answered."""
_NOWHERE = (-1, 0)


class Scrollback:
    """Ring and scanner of one terminal, fed together."""

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
        """`capacity` in bytes; small ones could not hold the longest sequence."""
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

    @property
    def start(self) -> int:
        """The oldest offset that can be read."""
        return self._ring.start

    @property
    def end(self) -> int:
        """The number of bytes ever taken."""
        return self._ring.end

    @property
    def modes(self) -> Modes:
        """What the terminal is set to now."""
        return self._scanner.modes

    @property
    def ready(self) -> int:
        """The offset up to which viewers may read now."""
        unfinished = self._scanner.unfinished
        held = unfinished if unfinished <= MAX_HELD_BYTES and not self._finished else 0
        return self._ring.end - held

    def append(self, data: bytes) -> tuple[Query, ...]:
        """Take output; returns the questions in it, oldest first."""
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
        """Everybody who wanted it has read what there is: the bytes read last, which are kept
        because viewers of a flood all want the same, are let go."""
        self._shared_place, self._shared = _NOWHERE, b""

    def finish(self) -> None:
        """There will be no more: an unfinished end is all there is."""
        self._finished = True

    def first_cut(self) -> Cut:
        """Where a whole replay begins."""
        return self._cut_from(self._ring.start)

    def middle_cut(self) -> Cut:
        """Where a slow viewer goes on: enough to see, enough room not to fall off at once."""
        return self._cut_from((self._ring.start + self._ring.end) // 2)

    def read(self, offset: int, limit: int, *, fresh_from: int | None = None) -> bytes:
        """Up to `limit` bytes from `offset` to `ready`. With `fresh_from`, questions asked at or
        after that offset are as the program wrote them. Raises `ValueError` off the ring."""
        count = min(limit, max(0, self.ready - offset))
        if (offset, count) == self._shared_place:
            data = self._shared
        else:
            data = self._ring.read(offset, count)
            self._shared_place, self._shared = (offset, count), data
        if fresh_from is None or not self._fresh or not data:
            return data
        return self._freshened(offset, data, fresh_from)

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

    def _freshened(self, offset: int, data: bytes, fresh_from: int) -> bytes:
        patched: bytearray | None = None
        for start, text in self._fresh:
            low, high = max(start, offset), min(start + len(text), offset + len(data))
            if start >= fresh_from and low < high:
                patched = patched or bytearray(data)
                patched[low - offset : high - offset] = text[low - start : high - start]
        return data if patched is None else bytes(patched)

    def _cut_from(self, offset: int) -> Cut:
        """The first cut at or after `offset`, or the present one."""
        at = bisect_left(self._cuts, offset, key=lambda cut: cut.offset)
        if at < len(self._cuts):
            return self._cuts[at]
        return self._scanner.cut()
