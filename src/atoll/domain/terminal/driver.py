"""When output must wait for the one who drives (design R4). Who that is, `turn` decides.

A state machine without a clock: every stimulus brings the time, in seconds on any steady
scale, and `deadline` says when `tick` is due. It moves no bytes and opens no connection;
the runtime reads `paused` after each stimulus and acts on the difference.
"""

from dataclasses import dataclass, field

HIGH_WATER_BYTES = 192 * 1024
SPARE_BYTES = 64 * 1024
"""Of the ring, for a read already under way when the mark is reached, and what the kernel holds."""
MAX_ACK_BYTES = 16 * 1024
STALL_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Watermarks:
    """Unacknowledged bytes at which output pauses (`high`) and goes on again (`low`). `low` is
    far above what a client may leave unacknowledged (`ack_every`) and what waits for the end of
    a sequence, or a driver that does all it should would be waited for; and near `high`, so that
    the program goes on while there is still much to show."""

    high: int
    low: int

    @property
    def ack_every(self) -> int:
        """How many bytes a client may take before it acknowledges them."""
        return min(MAX_ACK_BYTES, self.high // 4)


def watermarks(ring_bytes: int) -> Watermarks:
    """The contract's marks, lower for a small ring: what pauses must still be in the ring."""
    high = min(HIGH_WATER_BYTES, max(ring_bytes - SPARE_BYTES, ring_bytes // 4))
    return Watermarks(high, 3 * high // 4)


@dataclass(slots=True)
class Seat:
    """One client. `since` is when its silence began to count; `trusted` that its backlog may
    pause the output: it has acknowledged, and has not been silent for too long since."""

    acked: int
    since: float
    trusted: bool = False
    left: bool = False


@dataclass(slots=True)
class Driving:
    """The clients of one terminal, the driver among them. The driver alone is kept after it
    left, for as long as it stays the driver: its backlog pauses on through the grace."""

    marks: Watermarks
    end: int = 0
    driver: str | None = None
    paused: bool = False
    _seats: dict[str, Seat] = field(default_factory=dict)

    def joined(self, client: str, offset: int, now: float) -> None:
        """A client is attached and has everything before `offset`. A driver that comes back
        keeps its seat, and with it the right to pause."""
        seat = self._seats.get(client)
        if seat is None:
            self._seats[client] = Seat(offset, now)
        else:
            seat.acked, seat.since, seat.left = offset, now, False
        self._settle(now)

    def left(self, client: str, now: float) -> None:
        """A client's connection is gone."""
        if client != self.driver:
            self._seats.pop(client, None)
            return
        self._seats[client].left = True
        self._settle(now)

    def driven(self, client: str | None, now: float) -> None:
        """This client drives from now on; None: nobody does. Raises `KeyError` for one that is
        not attached."""
        if client == self.driver:
            return
        before = self._driving_seat()
        if self.driver is not None and before is not None and before.left:
            del self._seats[self.driver]
        if client is not None:
            self._seats[client].since = now
        self.driver = client
        self._settle(now)

    def acked(self, client: str, offset: int, now: float) -> bool:
        """A client has everything before `offset` on its screen. An offset that goes back or
        beyond the end is refused: False, and nothing changes. Repeating one is allowed, but
        only progress counts, or a client could hold the output for ever."""
        seat = self._seats.get(client)
        if seat is None or not seat.acked <= offset <= self.end:
            return False
        if offset > seat.acked:
            seat.acked, seat.since, seat.trusted = offset, now, True
            self._settle(now)
        return True

    def skipped(self, client: str, offset: int) -> None:
        """A client was resynced: what it missed is no backlog any more."""
        seat = self._seats.get(client)
        if seat is not None:
            seat.acked = max(seat.acked, offset)

    def produced(self, end: int, now: float) -> None:
        """Output reaches up to `end`."""
        self.end = end
        self._settle(now)

    def tick(self, now: float) -> None:
        """Time has passed: take the right to pause from a driver gone silent. One that is gone
        altogether keeps it until its turn is over."""
        seat = self._driving_seat()
        if seat is None or seat.left:
            return
        if self.paused and now >= seat.since + STALL_SECONDS:
            seat.trusted = False
        self._settle(now)

    @property
    def deadline(self) -> float | None:
        """When `tick` next has something to do; None while it has not."""
        seat = self._driving_seat()
        if seat is None or seat.left:
            return None
        return seat.since + STALL_SECONDS if self.paused else None

    @property
    def present(self) -> bool:
        """Whether somebody drives and is connected."""
        seat = self._driving_seat()
        return seat is not None and not seat.left

    def _driving_seat(self) -> Seat | None:
        return None if self.driver is None else self._seats[self.driver]

    def _settle(self, now: float) -> None:
        """Bring `paused` in line with the driver's backlog."""
        seat = self._driving_seat()
        if seat is None or not seat.trusted:
            self.paused = False
            return
        backlog = self.end - seat.acked
        if self.paused:
            self.paused = backlog > self.marks.low
        elif backlog >= self.marks.high:
            self.paused = True
            # Silence counts from the mark, not from an acknowledgement long before it.
            seat.since = now
