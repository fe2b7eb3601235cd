"""The last bytes of a terminal, by absolute offset.

Byte 0 is the first one the terminal ever printed. The ring forgets the oldest bytes and never moves
an offset; readers keep nothing but an integer. It does not know what the bytes mean:
`wire.terminal.scanner` finds safe places to start reading.
"""


class Ring:
    """A bounded byte buffer. `start <= end`, and `end - start <= capacity`."""

    __slots__ = ("_begin", "_buffer", "capacity", "end")

    def __init__(self, capacity: int, begin: int = 0) -> None:
        """Create a ring of `capacity` bytes, at least 1, whose first byte will have the offset
        `begin`. Memory is touched only as it fills."""
        if capacity < 1:
            raise ValueError(f"a ring needs at least one byte, got {capacity}")
        self._buffer = bytearray(capacity)
        self._begin = begin
        self.capacity = capacity
        self.end = begin

    @property
    def start(self) -> int:
        """The offset of the oldest byte still kept."""
        return max(self._begin, self.end - self.capacity)

    def append(self, data: bytes) -> None:
        """Append bytes at `end`; the oldest bytes that no longer fit are dropped."""
        kept = data[-self.capacity :] if len(data) > self.capacity else data
        at = (self.end + len(data) - len(kept)) % self.capacity
        head = min(len(kept), self.capacity - at)
        self._buffer[at : at + head] = kept[:head]
        self._buffer[: len(kept) - head] = kept[head:]
        self.end += len(data)

    def blank(self, start: int, end: int) -> None:
        """Overwrite `start…end` with NUL, as far as it is still kept; offsets stay as they are."""
        for offset in range(max(start, self.start), min(end, self.end)):
            self._buffer[offset % self.capacity] = 0

    def read(self, offset: int, limit: int) -> bytes:
        """Return up to `limit` bytes from `offset`; empty at `end`. Raises `ValueError` when
        `offset` was dropped or has not been written yet."""
        if not self.start <= offset <= self.end:
            raise ValueError(f"offset {offset} is outside {self.start}…{self.end}")
        count = max(0, min(limit, self.end - offset))
        at = offset % self.capacity
        head = min(count, self.capacity - at)
        with memoryview(self._buffer) as held:
            return b"".join((held[at : at + head], held[: count - head]))
