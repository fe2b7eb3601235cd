"""The result of a step, and the changes of state that several kinds of stimuli make."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.sandboxes.instruction import Append, Instruction, Teardown
from atoll.domain.sandboxes.lifetime import end_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.wire.words.sandboxes import State

Outcome = tuple[Sandbox, tuple[Instruction, ...]]


def enter(sandbox: Sandbox, state: State, now: datetime, *, reason: str | None = None) -> Sandbox:
    """Return `sandbox` in `state`, without the former state's reason. One that slept wakes while
    it is started, also again after that failed, and has slept in any other state."""
    wakes = state in (State.PROVISIONING, State.FAILED)
    asleep_since = sandbox.asleep_since if wakes else None
    return replace(
        sandbox,
        state=state,
        updated_at=now,
        reason=reason,
        standing=False,
        asleep_since=asleep_since,
    )


def end_life(
    sandbox: Sandbox,
    state: State,
    now: datetime,
    *,
    reason: str,
    facts: Mapping[str, Json] | None = None,
) -> Outcome:
    """Return the end of a running life, in a state that keeps the files for a while. `facts` are
    what its event says beside that."""
    until = now + timedelta(seconds=sandbox.profile.ttl.retention_seconds)
    ended = replace(enter(sandbox, state, now, reason=reason), retained_until=until)
    event = Append(
        f"sandbox.{state}", reason, {"retained_until": until.isoformat(), **(facts or {})}
    )
    return ended, (event, Teardown(sandbox.generation, keep_state=True))


def state_refusal(sandbox: Sandbox, act: str, hint: str) -> Conflict:
    """Return the refusal of an act by the state of the sandbox."""
    return Conflict(
        f"Sandbox {sandbox.name} ({sandbox.id}) is {sandbox.state} and cannot be {act}: {hint}."
    )


def end_facts(sandbox: Sandbox) -> dict[str, Json]:
    """Return the payload of an event about the end of a sandbox."""
    end = end_of(sandbox) or sandbox.expires_at
    return {"expires_at": end.isoformat()}
