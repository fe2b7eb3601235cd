from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.routes.health import (
    LONGEST_PAUSE,
    MOST,
    PAUSE,
    TRIP,
    UNKNOWN,
    WINDOW,
    Health,
    Outcome,
    health_of,
)
from atoll.wire.words.routes import Breaker

NOW = datetime(2026, 11, 26, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def outcomes(*times: int | None) -> list[Outcome]:
    """Return outcomes a second apart, the last one now."""
    return [
        Outcome(NOW - (len(times) - 1 - number) * SECOND, time) for number, time in enumerate(times)
    ]


def test_nothing_tried_is_unknown_and_what_is_old_does_not_count() -> None:
    assert health_of([], NOW) == UNKNOWN
    assert health_of([Outcome(NOW - WINDOW, 5)], NOW) == UNKNOWN


def test_rates_and_percentiles_are_of_what_counts() -> None:
    times = [None, *range(1, MOST)]
    assert health_of(outcomes(*times), NOW) == Health(MOST, (MOST - 1) / MOST, 50, 95)
    assert health_of(outcomes(*times, 7), NOW).success == 1.0
    assert health_of(outcomes(None), NOW) == Health(1, 0.0, None, None)


def test_breaker_opens_after_failures_in_a_row_and_waits_longer_each_time() -> None:
    assert health_of(outcomes(*[None] * (TRIP - 1)), NOW).breaker is Breaker.CLOSED
    assert health_of(outcomes(*[None] * TRIP, 3), NOW).breaker is Breaker.CLOSED
    tripped = outcomes(*[None] * TRIP)
    assert health_of(tripped, NOW + PAUSE - SECOND).breaker is Breaker.OPEN
    assert health_of(tripped, NOW + PAUSE).breaker is Breaker.HALF_OPEN
    again = outcomes(*[None] * (TRIP + 1))
    assert health_of(again, NOW + PAUSE).breaker is Breaker.OPEN
    assert health_of(again, NOW + 2 * PAUSE).breaker is Breaker.HALF_OPEN
    many = outcomes(*[None] * 90)
    assert health_of(many, NOW + LONGEST_PAUSE).breaker is Breaker.HALF_OPEN


@given(st.lists(st.none() | st.integers(0, 10**6), max_size=130))
def test_health_is_within_what_was_measured(times: list[int | None]) -> None:
    found = health_of(outcomes(*times), NOW)
    measured = [one for one in times[-MOST:] if one is not None]
    assert found.attempts == min(len(times), MOST)
    if measured:
        assert found.p50_ms is not None
        assert found.p95_ms is not None
        assert min(measured) <= found.p50_ms <= found.p95_ms <= max(measured)
