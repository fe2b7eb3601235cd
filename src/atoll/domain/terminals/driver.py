"""Flow control of output by the driver. `turn` decides who drives.

A state machine without a clock: every stimulus brings the time, in seconds on any steady scale, and
`deadline` tells when `tick` is due. It moves no bytes and opens no connection; the runtime reads
`paused` after each stimulus and acts on the difference.
"""

from dataclasses import dataclass, field

HIGH_WATER_BYTES = 192 * 1024
SPARE_BYTES = 64 * 1024
"""The bytes of the ring reserved for a read under way when the mark is reached, and for the
kernel's buffer."""
MAX_ACK_BYTES = 16 * 1024
STALL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Watermarks:
    """The unacknowledged bytes at which output pauses (`high`) and resumes (`low`).

    `low` is far above what a client may leave unacknowledged (`ack_every`) and what waits for the
    end of a sequence; otherwise a correct driver would be waited for. It is near `high`, so that
    the program resumes while there is still much to show.
    """

    high: int
    low: int

    @property
    def ack_every(self) -> int:
        """The bytes that a client may receive before it acknowledges them."""
        return min(MAX_ACK_BYTES, self.high // 4)


def watermarks(ring_bytes: int) -> Watermarks:
    """Return the contract's marks, lower for a small ring: unacknowledged output must still be in
    the ring."""
    high = min(HIGH_WATER_BYTES, max(ring_bytes - SPARE_BYTES, ring_bytes // 4))
    return Watermarks(high, 3 * high // 4)


@dataclass(slots=True)
class ClientProgress:
    """A client's progress.

    `since` is when its silence began to count. `trusted`: its backlog may pause the output, since
    it has acknowledged, and has not been silent for too long since.
    """

    acked: int
    since: float
    trusted: bool = False
    left: bool = False


@dataclass(slots=True)
class Driving:
    """The clients of one terminal, the driver among them.

    Only a driver is kept after it left, for as long as it stays the driver: its backlog pauses the
    output through the grace.
    """

    marks: Watermarks
    end: int = 0
    driver: str | None = None
    paused: bool = False
    _progress: dict[str, ClientProgress] = field(default_factory=dict)

    def joined(self, client: str, offset: int, now: float) -> None:
        """Record that a client attached and has everything before `offset`. A driver that comes
        back keeps the right to pause."""
        progress = self._progress.get(client)
        if progress is None:
            self._progress[client] = ClientProgress(offset, now)
        else:
            progress.acked, progress.since, progress.left = offset, now, False
        self._settle(now)

    def left(self, client: str, now: float) -> None:
        """Record that a client's connection is gone."""
        if client != self.driver:
            self._progress.pop(client, None)
            return
        self._progress[client].left = True
        self._settle(now)

    def set_driver(self, client: str | None, now: float) -> None:
        """Record that this client drives from now on; None: nobody does. Raises `KeyError` for one
        that is not attached."""
        if client == self.driver:
            return
        before = self._driver_progress()
        if self.driver is not None and before is not None and before.left:
            del self._progress[self.driver]
        if client is not None:
            self._progress[client].since = now
        self.driver = client
        self._settle(now)

    def acked(self, client: str, offset: int, now: float) -> bool:
        """Record that a client has everything before `offset` on its screen.

        Returns False, and changes nothing, for an offset that goes back or beyond the end.
        Repeating one is allowed, but only progress counts; otherwise a client could hold the output
        for ever.
        """
        progress = self._progress.get(client)
        if progress is None or not progress.acked <= offset <= self.end:
            return False
        if offset > progress.acked:
            progress.acked, progress.since, progress.trusted = offset, now, True
            self._settle(now)
        return True

    def skipped(self, client: str, offset: int) -> None:
        """Record that a client was resynced: what it missed is no backlog any more."""
        progress = self._progress.get(client)
        if progress is not None:
            progress.acked = max(progress.acked, offset)

    def produced(self, end: int, now: float) -> None:
        """Record that output reaches up to `end`."""
        self.end = end
        self._settle(now)

    def tick(self, now: float) -> None:
        """Take the right to pause from a driver that has gone silent. One whose connection is gone
        keeps it until its turn is over."""
        progress = self._driver_progress()
        if progress is None or progress.left:
            return
        if self.paused and now >= progress.since + STALL_SECONDS:
            progress.trusted = False
        self._settle(now)

    @property
    def deadline(self) -> float | None:
        """The time at which `tick` is due next; None while it is not."""
        progress = self._driver_progress()
        if progress is None or progress.left:
            return None
        return progress.since + STALL_SECONDS if self.paused else None

    @property
    def present(self) -> bool:
        """True if somebody drives and is connected."""
        progress = self._driver_progress()
        return progress is not None and not progress.left

    def _driver_progress(self) -> ClientProgress | None:
        return None if self.driver is None else self._progress[self.driver]

    def _settle(self, now: float) -> None:
        """Bring `paused` in line with the driver's backlog."""
        progress = self._driver_progress()
        if progress is None or not progress.trusted:
            self.paused = False
            return
        backlog = self.end - progress.acked
        if self.paused:
            self.paused = backlog > self.marks.low
        elif backlog >= self.marks.high:
            self.paused = True
            # Silence counts from the mark, not from an acknowledgement long before it.
            progress.since = now
