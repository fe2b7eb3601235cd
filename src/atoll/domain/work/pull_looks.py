"""Looks at the pull requests of a sandbox: which are worth one, and when the next is due.

Pure. A young pull request changes soon, an old one seldom, and a merged one never again.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from atoll.domain.sandboxes.sandbox import GONE, Sandbox
from atoll.domain.work.record import PullRecord, WorkRecord
from atoll.wire.words.forges import PullState

FIRST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(hours=1)

_PAUSES: Final = (
    (timedelta(hours=1), FIRST),
    (timedelta(days=1), timedelta(minutes=5)),
)
"""Ages of an open pull request, and the pause until the next look while it is younger."""

_LATE: Final = timedelta(minutes=20)
_MAX_DOUBLINGS: Final = 10


def pulls_to_look_at(sandbox: Sandbox, record: WorkRecord) -> Sequence[PullRecord]:
    """Return the pull requests whose state may change, of repositories that the sandbox has. A
    closed one may be opened again."""
    if sandbox.state in GONE or sandbox.archived_at is not None:
        return ()
    return tuple(
        pull
        for pull in record.pulls
        if pull.state is not PullState.MERGED and 0 <= pull.repo < len(sandbox.repos)
    )


def pause_after_look(pull: PullRecord, failures: int, now: datetime) -> timedelta:
    """Return the pause until the next look: it grows with age, doubles with each failure in a row,
    and is an hour at most."""
    if pull.state is not PullState.OPEN:
        return LONGEST
    age = now - _opened_at(pull, now)
    pause = next((pause for limit, pause in _PAUSES if age < limit), _LATE)
    return min(pause * (1 << min(failures, _MAX_DOUBLINGS)), LONGEST)


def _opened_at(pull: PullRecord, now: datetime) -> datetime:
    """Return when the pull request was opened, or had newer commits."""
    try:
        return datetime.fromisoformat(pull.at).astimezone(UTC)
    except ValueError:
        return now
