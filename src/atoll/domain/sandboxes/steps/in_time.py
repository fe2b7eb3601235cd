"""Steps that time makes: ends, warnings, idle stops, activity, and the end of a consumer."""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.duration import spell_duration
from atoll.domain.sandboxes.instruction import Append
from atoll.domain.sandboxes.lifetime import end_of, warning_at
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox
from atoll.domain.sandboxes.steps.child import step_family
from atoll.domain.sandboxes.steps.outcome import Outcome, end_facts, end_life, enter
from atoll.domain.sandboxes.steps.requests import destroy, stop_running
from atoll.domain.sandboxes.steps.sleep import fall_asleep
from atoll.domain.sandboxes.stimulus import (
    ChildMade,
    ConsumerEnded,
    Due,
    Idle,
    ParentEnded,
    Touched,
)
from atoll.wire.words.sandboxes import IdleAction, Scope, State

TOUCH_SECONDS = 30.0
"""The staleness of `last_active_at`: one write in this time, however busy the sandbox."""


def step_time(
    sandbox: Sandbox,
    stimulus: Due | Idle | Touched | ConsumerEnded | ChildMade | ParentEnded,
    now: datetime,
) -> Outcome:
    """Return the outcome of a deadline, of activity, or of the end of a consumer or a
    parent."""
    match stimulus:
        case ConsumerEnded():
            if sandbox.scope is not Scope.SESSION or sandbox.state not in LIVE:
                return sandbox, ()
            reason = "Its consumer's session ended."
            return end_life(sandbox, State.EXPIRED, now, reason=reason, facts=stimulus.facts)
        case ChildMade() | ParentEnded():
            return step_family(sandbox, stimulus, now)
        case Due():
            return _step_due(sandbox, now)
        case Idle():
            return _step_idle(sandbox, now, stimulus)
        case Touched():  # pragma: no branch - the cases are all
            return _touch(sandbox, now)


def _step_due(sandbox: Sandbox, now: datetime) -> Outcome:
    """Check the deadlines of a sandbox: it may expire, be destroyed or get a warning."""
    if sandbox.archived_at is not None:
        return sandbox, ()
    if sandbox.state in LIVE:
        if now >= sandbox.expires_at:
            return end_life(sandbox, State.EXPIRED, now, reason="Its time to live ran out.")
        return _warn(sandbox, now)
    until = sandbox.retained_until
    if sandbox.state in KEPT and until is not None and now >= until:
        return destroy(sandbox, now, kept_at=None)
    return _warn(sandbox, now) if until is not None else (sandbox, ())


def _warn(sandbox: Sandbox, now: datetime) -> Outcome:
    """Warn once, for each end it is given, that it ends soon."""
    end = end_of(sandbox)
    if end is None or sandbox.warned_of == end or now < warning_at(sandbox):
        return sandbox, ()
    told = Append("sandbox.ends_soon", None, end_facts(sandbox))
    return replace(sandbox, warned_of=end), (told,)


def _step_idle(sandbox: Sandbox, now: datetime, idle: Idle) -> Outcome:
    """Return the sandbox after an idle report: it ends as its profile says, or notes its last
    use."""
    ttl = sandbox.profile.ttl
    reap, stop = ttl.idle_reap_seconds, ttl.idle_stop_seconds
    if sandbox.state not in RUNNING or (reap is None and stop is None):
        return sandbox, ()
    if reap is not None and idle.idle_seconds >= reap:
        reason = f"Nothing was typed, run or changed in it for {reap} seconds."
        return end_life(sandbox, State.EXPIRED, now, reason=reason)
    if stop is not None and idle.unused_seconds >= stop:
        return _end_idle(sandbox, now, reason=f"Nobody used it for {spell_duration(stop)}.")
    last = now - timedelta(seconds=max(0.0, idle.idle_seconds))
    used = now - timedelta(seconds=max(0.0, idle.unused_seconds))
    return replace(sandbox, last_active_at=last, last_used_at=used), ()


def _end_idle(sandbox: Sandbox, now: datetime, *, reason: str) -> Outcome:
    """Return a sandbox that nobody used, after its profile's idle action."""
    match sandbox.profile.idle_action:
        case IdleAction.REAP:
            return end_life(sandbox, State.EXPIRED, now, reason=reason)
        case IdleAction.STOP:
            return stop_running(sandbox, now, reason=reason)
        case IdleAction.SLEEP:  # pragma: no branch - the cases are all
            return fall_asleep(sandbox, now, reason=reason)


def _touch(sandbox: Sandbox, now: datetime) -> Outcome:
    match sandbox.state:
        case State.READY:
            active = replace(enter(sandbox, State.ACTIVE, now), last_active_at=now)
            return active, (Append("sandbox.active"),)
        case State.ACTIVE:
            last = sandbox.last_active_at
            if last is not None and (now - last).total_seconds() < TOUCH_SECONDS:
                return sandbox, ()
            return replace(sandbox, last_active_at=now), ()
        case _:
            return sandbox, ()
