"""Steps of sleep: a sandbox that nobody uses sleeps, and an access wakes it.

It sleeps as a stopped one does, and costs disk only. What differs is that its terminals come back
as they were, and that whoever uses it need not know that it slept.
"""

from dataclasses import replace
from datetime import datetime

from atoll.domain.errors import Conflict
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.instruction import Append, Teardown
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.steps.outcome import Outcome, enter, state_refusal
from atoll.domain.sandboxes.steps.requests import start
from atoll.domain.sandboxes.stimulus import Sleep, WakeUp
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import State, WakePolicy


def step_sleep(sandbox: Sandbox, stimulus: Sleep | WakeUp, now: datetime) -> Outcome:
    """Return the outcome of a request to sleep, or of an access. Raises `Conflict` where the state
    does not allow it."""
    match stimulus:
        case Sleep():
            return (sandbox, ()) if sandbox.asleep else fall_asleep(sandbox, now)
        case WakeUp():  # pragma: no branch - the cases are all
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


def check_may_wake(caller: Principal, sandbox: Sandbox) -> None:
    """Check that an access of the caller may wake a sandbox. Raises `Conflict`, which says what
    does wake it."""
    policy = sandbox.profile.wake
    by_person = caller.kind is ActorKind.PERSON and caller.token is None
    if policy is WakePolicy.ACCESS or (policy is WakePolicy.PERSON and by_person):
        return
    raise Conflict(
        f"Sandbox {sandbox.name} sleeps, and its profile has it woken by "
        f"{'a person alone' if policy is WakePolicy.PERSON else 'nothing but a start'}: "
        f"`atoll start {sandbox.name}`.",
        code="asleep",
    )


def _wake(sandbox: Sandbox, now: datetime) -> Outcome:
    """Start a sandbox that sleeps. Another access may have come first."""
    return start(sandbox, now, None) if sandbox.asleep else (sandbox, ())
