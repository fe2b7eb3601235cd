"""Usage over time: what is counted, the buckets it is kept in, and the series that are shown. Pure.

A gauge (sandboxes, agents, sessions) is the highest of a bucket's samples; counts are sums. The
counts follow from events of the doors, each counted once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from atoll.domain.errors import Invalid
from atoll.domain.event import Event
from atoll.domain.ids import OrgId

FINE = timedelta(minutes=5)
COARSE = timedelta(hours=1)
KEPT: Mapping[timedelta, timedelta] = {FINE: timedelta(days=2), COARSE: timedelta(days=92)}
"""The widths of stored buckets, and how long each is kept."""

BUCKETS: Mapping[str, timedelta] = {"5m": FINE, "1h": COARSE, "1d": timedelta(days=1)}
"""The widths that a series may have, by their spelling."""


DOOR_EVENTS = frozenset({"door.request", "door.refused"})
INSTALLATION = OrgId("")
"""The organization in whose name each sample is noted: a bucket without it was not watched."""

MAX_COUNT = 2**40
"""The most that one event counts of anything, a bound on what a runtime reports."""

_FIELDS = ("bytes_in", "bytes_out", "tokens_in", "tokens_out", "tokens_cached")
_REFUSING = frozenset({"read", "route", "judge", "admit"})
"""The steps at which the broker ends a call that it refuses."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class DoorCounts:
    """Counts of what passed the doors. `bytes_in` went from sandboxes into the network, `bytes_out`
    came back; tokens are those of model providers, partly estimated, and `tokens_cached` are among
    `tokens_in`. `calls` are the requests that the broker passed."""

    requests: int = 0
    refused: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    tokens_cached: int = 0

    def plus(self, other: "DoorCounts") -> "DoorCounts":
        """Return the sum."""
        return DoorCounts(
            self.requests + other.requests,
            self.refused + other.refused,
            self.bytes_in + other.bytes_in,
            self.bytes_out + other.bytes_out,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.calls + other.calls,
            self.tokens_cached + other.tokens_cached,
        )


@dataclass(frozen=True, slots=True)
class Gauges:
    """Numbers at one moment: of running sandboxes, agents in them, those at work, and open
    terminals and machine agents."""

    sandboxes: int = 0
    agents: int = 0
    working: int = 0
    sessions: int = 0

    def highest(self, other: "Gauges") -> "Gauges":
        """Return the highest of each."""
        return Gauges(
            max(self.sandboxes, other.sandboxes),
            max(self.agents, other.agents),
            max(self.working, other.working),
            max(self.sessions, other.sessions),
        )


@dataclass(frozen=True, slots=True)
class ConsumerUsage:
    """The usage of a consumer: its sandboxes, destroyed ones too, those of them that run, and what
    passed their doors in their whole lives."""

    harness: str
    session_id: str | None
    run_id: str | None
    job_id: str | None
    sandboxes: int
    running: int
    counts: DoorCounts


@dataclass(frozen=True, slots=True)
class UsageBucket:
    """The usage of an organization from `at` on, for the width of the bucket."""

    org_id: OrgId
    at: datetime
    standing: Gauges
    counts: DoorCounts


@dataclass(frozen=True, slots=True)
class UsagePoint:
    """A point of a series. `standing` is None where nobody watched."""

    at: datetime
    standing: Gauges | None
    counts: DoorCounts


@dataclass(frozen=True, slots=True)
class UsageRange:
    """Buckets of one width from `begin` on, before `end`. Both lie between two buckets."""

    begin: datetime
    end: datetime
    width: timedelta

    @property
    def stored(self) -> timedelta:
        """The width of the stored buckets that the series is made of."""
        return FINE if self.width == FINE else COARSE


def range_of(now: datetime, *, hours: int, bucket: str) -> UsageRange:
    """Return the range of the last hours up to now. Raises `Invalid` for buckets of five minutes
    that are no longer kept, and for an unknown width."""
    width = BUCKETS.get(bucket)
    if width is None:
        raise Invalid(f"bucket is one of {', '.join(BUCKETS)}", field="bucket")
    longest = KEPT[FINE if width == FINE else COARSE]
    if not timedelta(hours=1) <= timedelta(hours=hours) <= longest:
        most = longest // timedelta(hours=1)
        raise Invalid(f"buckets of {bucket} go back 1 to {most} hours", field="hours")
    end = bucket_of(now, width) + width
    return UsageRange(bucket_of(now - timedelta(hours=hours), width), end, width)


def bucket_of(at: datetime, width: timedelta) -> datetime:
    """Return the beginning of the bucket that a moment is in."""
    return _EPOCH + (at - _EPOCH) // width * width


def counts_of(event: Event) -> DoorCounts:
    """Return what one event of a door counts. Merged entries count what they stand for."""
    payload = event.payload
    merged = _read_count(payload.get("times")) + _read_count(payload.get("unrecorded"))
    # An entry that is nothing but sums has neither an outcome nor a code of its own.
    own = int("times" not in payload and ("outcome" in payload or "code" in payload))
    refused = event.event_type == "door.refused"
    sums = {
        name: _read_count(payload.get(name)) + _read_count(payload.get(f"unrecorded_{name}"))
        for name in _FIELDS
    }
    requests = 0 if refused else own + merged
    passed = payload.get("door") == "broker" and payload.get("step") not in _REFUSING
    calls = requests if passed else 0
    return DoorCounts(requests, own + merged if refused else 0, calls=calls, **sums)


def series(buckets: Iterable[UsageBucket], span: UsageRange) -> list[UsagePoint]:
    """Return every point of a range, from the buckets of one organization and of
    `INSTALLATION`."""
    standings: dict[datetime, Gauges] = {}
    counts: dict[datetime, DoorCounts] = {}
    for one in buckets:
        at = bucket_of(one.at, span.width)
        standings[at] = one.standing.highest(standings.get(at, Gauges()))
        if one.org_id != INSTALLATION:
            counts[at] = one.counts.plus(counts.get(at, DoorCounts()))
    length = (span.end - span.begin) // span.width
    moments = [span.begin + number * span.width for number in range(length)]
    return [UsagePoint(at, standings.get(at), counts.get(at, DoorCounts())) for at in moments]


def total(points: Sequence[UsagePoint]) -> tuple[Gauges, DoorCounts]:
    """Return the highest standing and the sum of the counts of a series."""
    standing, counts = Gauges(), DoorCounts()
    for one in points:
        standing = standing.highest(one.standing or Gauges())
        counts = counts.plus(one.counts)
    return standing, counts


def _read_count(value: object) -> int:
    """Return a count from 0 to `MAX_COUNT`; 0 for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return min(max(value, 0), MAX_COUNT)
