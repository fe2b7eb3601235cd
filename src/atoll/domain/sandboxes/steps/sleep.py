"""Steps of sleep: a sandbox that nobody uses sleeps, and an access wakes it.

It sleeps as a stopped one does, and costs disk only. What differs is that its terminals come back
as they were, and that whoever uses it need not know that it slept.
"""

from dataclasses import replace
from datetime import datetime

from atoll.domain.sandboxes.instruction import Append, Teardown
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.steps.outcome import Outcome, enter, state_refusal
from atoll.domain.sandboxes.steps.requests import start
from atoll.domain.sandboxes.stimulus import Sleep, Wake
from atoll.wire.words.sandboxes import State


def step_sleep(sandbox: Sandbox, stimulus: Sleep | Wake, now: datetime) -> Outcome:
    """Return the outcome of a request to sleep, or of an access. Raises `Conflict` where the state
    does not allow it."""
    match stimulus:
        case Sleep():
            return (sandbox, ()) if sandbox.asleep else fall_asleep(sandbox, now)
        case Wake():  # pragma: no branch - the cases are all
            return _wake(sandbox, now)


def fall_asleep(sandbox: Sandbox, now: datetime, *, reason: str | None = None) -> Outcome:
    """Return a running sandbox as it sleeps. Raises `Conflict` for another one."""
    if sandbox.state not in RUNNING:
        raise state_refusal(sandbox, "put to sleep", "only a ready or active one can be")
    asleep = replace(enter(sandbox, State.STOPPED, now, reason=reason), asleep_since=now)
    return asleep, (
        Append("sandbox.stopped", reason, {"asleep": True}),
        Teardown(sandbox.generation, keep_state=True),
    )


def _wake(sandbox: Sandbox, now: datetime) -> Outcome:
    """Start a sandbox that sleeps. Another access may have come first."""
    return start(sandbox, now, None) if sandbox.asleep else (sandbox, ())
