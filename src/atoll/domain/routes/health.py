"""Health of a backend at a place, from the outcomes of its attempts to bring sandboxes up.

Pure: outcomes and the time in, rates and a breaker out. A fault of the request is no outcome.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from atoll.wire.words.routes import Breaker

WINDOW: Final = timedelta(hours=24)
"""Older outcomes do not count."""

MOST: Final = 100
"""The newest outcomes that count."""

TRIP: Final = 5
"""The failures in a row that open the breaker."""

PAUSE: Final = timedelta(seconds=30)
"""The first pause of an open breaker; it doubles with each further failure."""

LONGEST_PAUSE: Final = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A start at one place that ended. `reason` is why it failed, None when it was ready. `region`
    is empty on a host."""

    extension: str
    host: str
    at: datetime
    reason: str | None = None
    region: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an attempt. `ready_ms` is the time until the sandbox was ready, None when it
    failed."""

    at: datetime
    ready_ms: int | None

    @property
    def ready(self) -> bool:
        """Report whether it succeeded."""
        return self.ready_ms is not None


@dataclass(frozen=True, slots=True)
class Health:
    """Health as measured. Rates and times are None while nothing was measured. `success` is from
    0 to 1, times are milliseconds."""

    attempts: int = 0
    success: float | None = None
    p50_ms: int | None = None
    p95_ms: int | None = None
    breaker: Breaker = Breaker.CLOSED


UNKNOWN: Final = Health()
"""The health of a place where nothing was tried."""


def health_of(outcomes: Sequence[Outcome], now: datetime) -> Health:
    """Return the health that outcomes tell, oldest first."""
    counted = [one for one in outcomes if one.at > now - WINDOW][-MOST:]
    if not counted:
        return UNKNOWN
    times = sorted(one.ready_ms for one in counted if one.ready_ms is not None)
    return Health(
        attempts=len(counted),
        success=len(times) / len(counted),
        p50_ms=_rank(times, 50),
        p95_ms=_rank(times, 95),
        breaker=_breaker(counted, now),
    )


def _rank(times: Sequence[int], percent: int) -> int | None:
    """Return the nearest-rank percentile."""
    return times[-(-percent * len(times) // 100) - 1] if times else None


def _breaker(outcomes: Sequence[Outcome], now: datetime) -> Breaker:
    failures = 0
    for one in reversed(outcomes):
        if one.ready:
            break
        failures += 1
    if failures < TRIP:
        return Breaker.CLOSED
    pause = min(PAUSE * 2 ** min(failures - TRIP, 10), LONGEST_PAUSE)
    return Breaker.OPEN if now < outcomes[-1].at + pause else Breaker.HALF_OPEN
