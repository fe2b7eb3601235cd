"""Steps of a relocation: its request, its copy, the clearing after, or its failure.

A report about any other relocation than the present one changes nothing. One that is destroyed
meanwhile has its teardown clear both places.
"""

from dataclasses import replace
from datetime import datetime

from atoll.domain.event import Json
from atoll.domain.hosts.relocation import Relocation, RelocationPhase
from atoll.domain.sandboxes.instruction import Append, Relocate
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.domain.sandboxes.steps.outcome import Outcome, state_refusal
from atoll.domain.sandboxes.stimulus import (
    Evacuate,
    Relocated,
    RelocationEnded,
    RelocationFailed,
)
from atoll.wire.words.sandboxes import State


def step_relocation(
    sandbox: Sandbox,
    stimulus: Evacuate | Relocated | RelocationEnded | RelocationFailed,
    now: datetime,
) -> Outcome:
    """Return the outcome of a relocation's stimulus. Raises `Conflict` for one that cannot be
    relocated."""
    if isinstance(stimulus, Evacuate):
        return _begin(sandbox, now, stimulus.target)
    present = sandbox.relocation
    if (
        present is None
        or not present.same(stimulus.relocation)
        or sandbox.state is State.DESTROYING
    ):
        return sandbox, ()
    match stimulus:
        case Relocated():
            return _arrive(sandbox, now, present)
        case RelocationEnded(_, leftovers):
            over = replace(sandbox, relocation=None, updated_at=now)
            return over, (Append("sandbox.relocation_ended", None, _facts(present, leftovers)),)
        case RelocationFailed(_, reason, leftovers):  # pragma: no branch - the cases are all
            over = replace(sandbox, relocation=None, updated_at=now)
            return over, (Append("sandbox.relocation_failed", reason, _facts(present, leftovers)),)


def check_in_place(sandbox: Sandbox, act: str) -> None:
    """Check that files are not being copied from under a start. Raises `Conflict`."""
    present = sandbox.relocation
    if present is not None and present.phase is RelocationPhase.COPYING:
        raise state_refusal(
            sandbox, act, f"its files go to host {present.target}; wait until they are there"
        )


def _begin(sandbox: Sandbox, now: datetime, target: str) -> Outcome:
    if sandbox.state not in (State.STOPPED, State.EXPIRED):
        raise state_refusal(sandbox, "relocated", "only a stopped or expired one can be")
    if sandbox.relocation is not None:
        raise state_refusal(
            sandbox, "relocated", f"it is on its way to host {sandbox.relocation.target}"
        )
    if target == sandbox.host:
        raise state_refusal(sandbox, "relocated", f"its files are on host {target}")
    present = Relocation(sandbox.host, target)
    begun = replace(sandbox, relocation=present, updated_at=now)
    return begun, (Append("sandbox.relocation_started", None, _facts(present)), Relocate())


def _arrive(sandbox: Sandbox, now: datetime, present: Relocation) -> Outcome:
    if present.phase is not RelocationPhase.COPYING:
        return sandbox, ()
    arrived = replace(
        sandbox,
        host=present.target,
        attachment=Attachment(),
        relocation=replace(present, phase=RelocationPhase.CLEARING),
        updated_at=now,
    )
    return arrived, (Append("sandbox.relocated", None, _facts(present)),)


def _facts(present: Relocation, leftovers: tuple[str, ...] | None = None) -> dict[str, Json]:
    facts: dict[str, Json] = {"from": present.source, "to": present.target}
    return facts if leftovers is None else {**facts, "leftovers": [*leftovers]}
