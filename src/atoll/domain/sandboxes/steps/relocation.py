"""Steps of a relocation: asked for, done, cleared up after, or given up.

A report about any other relocation than the present one changes nothing. One that is destroyed
meanwhile has its teardown clear both places.
"""

from dataclasses import replace
from datetime import datetime

from atoll.domain.event import Json
from atoll.domain.hosts.relocation import Relocation, RelocationPhase
from atoll.domain.sandboxes.instruction import Append, Relocate
from atoll.domain.sandboxes.sandbox import Attachment, Sandbox
from atoll.domain.sandboxes.steps.outcome import Outcome, refused
from atoll.domain.sandboxes.stimulus import (
    Evacuate,
    Relocated,
    RelocationEnded,
    RelocationFailed,
)
from atoll.wire.words.sandboxes import State


def relocation(
    sandbox: Sandbox,
    stimulus: Evacuate | Relocated | RelocationEnded | RelocationFailed,
    now: datetime,
) -> Outcome:
    """Return the outcome of a relocation's stimulus. Raises `Conflict` for one that cannot be
    relocated."""
    if isinstance(stimulus, Evacuate):
        return _begun(sandbox, now, stimulus.target)
    going = sandbox.relocation
    if going is None or not going.same(stimulus.relocation) or sandbox.state is State.DESTROYING:
        return sandbox, ()
    match stimulus:
        case Relocated():
            return _arrived(sandbox, now, going)
        case RelocationEnded(_, leftovers):
            over = replace(sandbox, relocation=None, updated_at=now)
            return over, (Append("sandbox.relocation_ended", None, _told(going, leftovers)),)
        case RelocationFailed(_, reason, leftovers):  # pragma: no branch - the cases are all
            over = replace(sandbox, relocation=None, updated_at=now)
            return over, (Append("sandbox.relocation_failed", reason, _told(going, leftovers)),)


def check_in_place(sandbox: Sandbox, act: str) -> None:
    """Check that files are not being copied from under a start. Raises `Conflict`."""
    going = sandbox.relocation
    if going is not None and going.phase is RelocationPhase.COPYING:
        raise refused(
            sandbox, act, f"its files go to host {going.target}; wait until they are there"
        )


def _begun(sandbox: Sandbox, now: datetime, target: str) -> Outcome:
    if sandbox.state not in (State.STOPPED, State.EXPIRED):
        raise refused(sandbox, "relocated", "only a stopped or expired one can be")
    if sandbox.relocation is not None:
        raise refused(sandbox, "relocated", f"it is on its way to host {sandbox.relocation.target}")
    if target == sandbox.host:
        raise refused(sandbox, "relocated", f"its files are on host {target}")
    going = Relocation(sandbox.host, target)
    begun = replace(sandbox, relocation=going, updated_at=now)
    return begun, (Append("sandbox.relocation_started", None, _told(going)), Relocate())


def _arrived(sandbox: Sandbox, now: datetime, going: Relocation) -> Outcome:
    if going.phase is not RelocationPhase.COPYING:
        return sandbox, ()
    arrived = replace(
        sandbox,
        host=going.target,
        attachment=Attachment(),
        relocation=replace(going, phase=RelocationPhase.CLEARING),
        updated_at=now,
    )
    return arrived, (Append("sandbox.relocated", None, _told(going)),)


def _told(going: Relocation, leftovers: tuple[str, ...] | None = None) -> dict[str, Json]:
    told: dict[str, Json] = {"from": going.source, "to": going.target}
    return told if leftovers is None else {**told, "leftovers": [*leftovers]}
