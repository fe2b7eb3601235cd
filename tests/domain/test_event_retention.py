from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.event_retention import EventRetention, Removal, StreamSpan

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
EVER = datetime.min.replace(tzinfo=UTC)


def span(stream: str, *, oldest: int = 1, newest: int = 100, days: int = 5) -> StreamSpan:
    return StreamSpan(stream, oldest, NOW - days * DAY, newest)


@pytest.mark.parametrize(
    ("rule", "found", "due"),
    [
        (EventRetention(5 * DAY, None), span("auth"), None),
        (EventRetention(4 * DAY, None), span("auth"), (NOW - 4 * DAY, 0)),
        (EventRetention(4 * DAY, None), span("auth", oldest=100), None),
        (EventRetention(None, 100), span("sandbox:a"), None),
        (EventRetention(None, 99), span("sandbox:a"), (EVER, 2)),
        (EventRetention(None, 99), span("sandbox:a", oldest=2), None),
        (EventRetention(None, 10), span("auth"), None),
        (EventRetention(None, None), span("sandbox:a", days=9000), None),
        (EventRetention(4 * DAY, 10), span("sandbox:a"), (NOW - 4 * DAY, 91)),
    ],
)
def test_retention_removes_what_is_too_old_or_too_many_and_never_the_newest(
    rule: EventRetention, found: StreamSpan, due: tuple[datetime, int] | None
) -> None:
    removal = None if due is None else Removal(found.stream, *due, limit=7)
    assert rule.due(found, NOW, limit=7) == removal


def test_events_that_a_reader_waits_for_are_kept_a_week_longer_and_as_many_again() -> None:
    assert EventRetention(4 * DAY, 10).held == EventRetention(11 * DAY, 20)
    assert EventRetention(None, None).held == EventRetention(None, None)


def test_removal_ends_at_the_position_that_all_readers_have() -> None:
    removal = EventRetention(DAY, None).due(span("auth"), NOW, limit=7, until=3)
    assert removal == Removal("auth", NOW - DAY, 0, 7, until=3)
