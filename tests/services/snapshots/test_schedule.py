"""When a profile's snapshots are due."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from atoll.domain.profile.profile import CheckpointRule
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.snapshots.schedule import is_due
from atoll.testing import samples
from atoll.testing.samples import NOW
from atoll.wire.words.sandboxes import CheckpointEnd, State

HOURLY = CheckpointRule(3600)
AT_ENDS = CheckpointRule(None, 5, (CheckpointEnd.STOP, CheckpointEnd.EXPIRE))


def at(minutes: int) -> datetime:
    return NOW + timedelta(minutes=minutes)


def running(used: int | None) -> Sandbox:
    last = None if used is None else at(used)
    return replace(samples.sandbox("box"), ready_at=NOW, last_used_at=last)


@pytest.mark.parametrize(
    ("used", "newest", "now", "due"),
    [
        (30, None, 61, True),
        (30, None, 59, False),
        (None, None, 61, False),
        (30, 40, 120, False),
        (50, 40, 101, True),
        (50, 40, 99, False),
    ],
)
def test_snapshot_is_due_after_so_much_time_in_which_it_was_used(
    used: int | None, newest: int | None, now: int, due: bool
) -> None:
    last = None if newest is None else at(newest)
    assert is_due(running(used), HOURLY, last, at(now)) is due


def test_snapshot_is_due_once_after_an_end_that_is_named() -> None:
    stopped = replace(running(1), state=State.STOPPED, updated_at=at(10))
    assert is_due(stopped, AT_ENDS, None, at(11))
    assert is_due(stopped, AT_ENDS, at(9), at(11))
    assert not is_due(stopped, AT_ENDS, at(11), at(12))
    assert not is_due(stopped, HOURLY, None, at(500))
    asleep = replace(stopped, asleep_since=at(10))
    assert not is_due(asleep, AT_ENDS, None, at(11))
    assert is_due(asleep, CheckpointRule(ends=(CheckpointEnd.SLEEP,)), None, at(11))
    assert is_due(replace(stopped, state=State.EXPIRED), AT_ENDS, None, at(11))
    assert not is_due(replace(stopped, state=State.FAILED), AT_ENDS, None, at(11))
    assert not is_due(replace(stopped, ready_at=None), AT_ENDS, None, at(11))
