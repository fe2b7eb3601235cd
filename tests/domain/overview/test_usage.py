from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event import Event
from atoll.domain.ids import EventId, OrgId
from atoll.domain.overview.usage import (
    COARSE,
    FINE,
    INSTALLATION,
    MAX_COUNT,
    DoorCounts,
    Gauges,
    UsageBucket,
    bucket_of,
    counts_of,
    range_of,
    series,
    total,
)
from atoll.wire.words.overview import MAX_POINTS

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ORG = OrgId("acme")


def door(kind: str = "door.request", **payload: Any) -> Event:
    return Event(
        *(EventId("ev_1"), 1, "sandbox:sb_1", 1, kind, 1, NOW, ORG, "agt", "a", None),
        payload={"sandbox_id": "sb_1", "generation": 1, "n": 1, **payload},
    )


def test_request_counts_its_bytes_and_tokens_once() -> None:
    event = door(outcome="passed", bytes_in=3, bytes_out=4, tokens_in=5, tokens_out=6)
    assert counts_of(event) == DoorCounts(1, 0, 3, 4, 5, 6)


def test_sums_of_unrecorded_calls_count_what_they_stand_for() -> None:
    sums: dict[str, Any] = {"unrecorded": 9, "unrecorded_bytes_in": 70, "unrecorded_tokens_out": 80}
    assert counts_of(door(outcome="passed", bytes_in=3, **sums)) == DoorCounts(10, 0, 73, 0, 0, 80)
    assert counts_of(door(door="broker", **sums)) == DoorCounts(9, 0, 70, 0, 0, 80, 9)


def test_calls_are_what_the_broker_passed() -> None:
    told: dict[str, Any] = {"door": "broker", "outcome": "passed", "tokens_cached": 2}
    assert counts_of(door(step="forward", **told)) == DoorCounts(1, calls=1, tokens_cached=2)
    for step in ("read", "route", "judge", "admit"):
        assert counts_of(door(step=step, door="broker", outcome="refused")) == DoorCounts(1)
    assert counts_of(door(door="egress", outcome="passed")) == DoorCounts(1)
    both = DoorCounts(calls=1, tokens_cached=2).plus(DoorCounts(calls=3, tokens_cached=4))
    assert both == DoorCounts(calls=4, tokens_cached=6)


def test_merged_refusals_count_each() -> None:
    assert counts_of(door("door.refused", code="denied")) == DoorCounts(refused=1)
    assert counts_of(door("door.refused", code="denied", times=7)) == DoorCounts(refused=7)


@pytest.mark.parametrize("value", [-1, True, 1.5, "9", None, 2**70])
def test_what_a_runtime_reports_wrongly_counts_nothing_or_the_bound(value: Any) -> None:
    found = counts_of(door(outcome="passed", bytes_in=value, unrecorded_bytes_in=0))
    assert found.bytes_in == (MAX_COUNT if value == 2**70 else 0)


def test_range_ends_with_the_bucket_of_now() -> None:
    span = range_of(NOW, hours=24, bucket="1h")
    assert (span.begin, span.end) == (bucket_of(NOW, COARSE) - timedelta(days=1), span.end)
    assert span.end == bucket_of(NOW, COARSE) + COARSE
    assert span.stored == COARSE
    assert range_of(NOW, hours=1, bucket="5m").stored == FINE
    assert range_of(NOW, hours=72, bucket="1d").stored == COARSE


@pytest.mark.parametrize(
    ("hours", "bucket", "field"),
    [(24, "2h", "bucket"), (0, "1h", "hours"), (49, "5m", "hours"), (2209, "1h", "hours")],
)
def test_range_that_is_not_kept_is_invalid(hours: int, bucket: str, field: str) -> None:
    with pytest.raises(Invalid) as found:
        range_of(NOW, hours=hours, bucket=bucket)
    assert found.value.field == field


def test_longest_series_has_a_bound() -> None:
    span = range_of(NOW, hours=2208, bucket="1h")
    assert len(series([], span)) == MAX_POINTS


def test_series_has_every_point_and_tells_nothing_from_nobody_watching() -> None:
    span = range_of(NOW, hours=2, bucket="1h")
    first, second = span.begin, span.begin + COARSE
    own = UsageBucket(ORG, second, Gauges(2, 1, 1, 3), DoorCounts(requests=4))
    watched = UsageBucket(INSTALLATION, first, Gauges(), DoorCounts(requests=99))
    points = series([watched, own], span)
    assert [one.at for one in points] == [first, second, second + COARSE]
    assert [one.standing for one in points] == [Gauges(), Gauges(2, 1, 1, 3), None]
    assert [one.counts.requests for one in points] == [0, 4, 0]
    assert total(points) == (Gauges(2, 1, 1, 3), DoorCounts(requests=4))


def test_days_hold_the_highest_and_the_sums_of_their_hours() -> None:
    span = range_of(NOW, hours=24, bucket="1d")
    hour = UsageBucket(ORG, span.begin, Gauges(2, 0, 0, 0), DoorCounts(bytes_in=1))
    later = replace(hour, at=hour.at + COARSE, standing=Gauges(1, 5, 0, 0))
    first, _ = series([hour, later], span)
    assert first.standing == Gauges(2, 5, 0, 0)
    assert first.counts == DoorCounts(bytes_in=2)
