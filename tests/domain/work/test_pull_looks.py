"""Looks at pull requests: soon while they are young, seldom later, never once they are merged."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace as with_values

from atoll.domain.sandboxes.sandbox import SandboxRepo
from atoll.domain.work.pull_looks import pause_after_look, pulls_to_look_at
from atoll.domain.work.record import PullRecord, WorkRecord
from atoll.testing.samples import sandbox
from atoll.wire.words.forges import PullState
from atoll.wire.words.sandboxes import State

NOW = datetime(2026, 1, 2, tzinfo=UTC)
PULL = PullRecord(0, 7, "fix", "main", "c" * 40, at="2026-01-02T00:00:00.000Z")
REPO = SandboxRepo("https://f.example/o/r", "fix", None, "/workspace")
BOX = replace(sandbox("one"), repos=(REPO,))


@pytest.mark.parametrize(
    ("age", "failures", "state", "pause"),
    [
        (timedelta(), 0, PullState.OPEN, timedelta(minutes=1)),
        (timedelta(), 3, PullState.OPEN, timedelta(minutes=8)),
        (timedelta(), 1000, PullState.OPEN, timedelta(hours=1)),
        (timedelta(hours=2), 0, PullState.OPEN, timedelta(minutes=5)),
        (timedelta(days=2), 0, PullState.OPEN, timedelta(minutes=20)),
        (timedelta(), 0, PullState.CLOSED, timedelta(hours=1)),
    ],
)
def test_pause_grows_with_age_and_failures(
    age: timedelta, failures: int, state: PullState, pause: timedelta
) -> None:
    assert pause_after_look(with_values(PULL, state=state), failures, NOW + age) == pause


def test_pull_request_of_an_unreadable_time_is_young() -> None:
    assert pause_after_look(with_values(PULL, at=""), 0, NOW) == timedelta(minutes=1)


def test_pull_requests_that_may_change_are_looked_at() -> None:
    merged = with_values(PULL, pull=8, state=PullState.MERGED)
    closed = with_values(PULL, pull=9, state=PullState.CLOSED)
    elsewhere = with_values(PULL, pull=10, repo=1)
    record = WorkRecord(pulls=(PULL, merged, closed, elsewhere))
    assert [pull.pull for pull in pulls_to_look_at(BOX, record)] == [7, 9]
    assert pulls_to_look_at(replace(BOX, state=State.DESTROYED), record) == ()
    assert pulls_to_look_at(replace(BOX, archived_at=NOW), record) == ()
