"""Steps that put a sandbox away, and take it up again."""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.sandboxes.instruction import Append
from atoll.domain.sandboxes.lifetime import renew_lifetime
from atoll.domain.sandboxes.sandbox import KEPT, RUNNING, Sandbox, keeps_files
from atoll.domain.sandboxes.steps.outcome import Outcome, state_refusal
from atoll.domain.sandboxes.steps.requests import start, stop_running
from atoll.domain.sandboxes.stimulus import Archive, Revive
from atoll.wire.words.sandboxes import State

ARCHIVABLE = RUNNING | KEPT | {State.STOPPED}
"""The states in which a sandbox can be archived; one that runs is stopped."""


def step_archive(sandbox: Sandbox, stimulus: Archive | Revive, now: datetime) -> Outcome:
    """Return the outcome of an archive or a revival. Raises `Conflict` where the state does not
    allow it."""
    match stimulus:
        case Archive():
            return _archive(sandbox, now)
        case Revive():  # pragma: no branch - the cases are all
            return _revive(sandbox, now)


def _archive(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.archived_at is not None:
        return sandbox, ()
    if sandbox.state not in ARCHIVABLE:
        raise state_refusal(sandbox, "archived", "wait until it is ready, or destroy it")
    stopped, instructions = (
        stop_running(sandbox, now) if sandbox.state in RUNNING else (sandbox, ())
    )
    archived = replace(stopped, archived_at=now, asleep_since=None, warned_of=None, updated_at=now)
    return archived, (Append("sandbox.archived"), *instructions)


def _revive(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.archived_at is None:
        return sandbox, ()
    present = replace(sandbox, archived_at=None, updated_at=now)
    if sandbox.state in KEPT:
        retention = timedelta(seconds=sandbox.profile.ttl.retention_seconds)
        present = replace(present, retained_until=now + retention)
    else:
        present = renew_lifetime(present, now)
    until = present.expires_at.isoformat()
    revived = Append("sandbox.revived", None, {"expires_at": until})
    if not keeps_files(present):
        return present, (revived,)
    started, instructions = start(present, now, None)
    return started, (revived, *instructions)
