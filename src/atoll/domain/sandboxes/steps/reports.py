"""Steps that the reconciler reports: a start, its outcome, a break, and the end of a teardown.

A report of an earlier generation changes nothing.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from atoll.domain.event import Json
from atoll.domain.sandboxes.instruction import Append, Instruction, Provision
from atoll.domain.sandboxes.lifetime import renew_lifetime
from atoll.domain.sandboxes.project import SandboxProject, await_servers, interrupt_setup
from atoll.domain.sandboxes.sandbox import LIVE, Attachment, Sandbox
from atoll.domain.sandboxes.steps.inside import setup_event
from atoll.domain.sandboxes.steps.outcome import Outcome, end_life, enter
from atoll.domain.sandboxes.stimulus import (
    Broke,
    Reached,
    Renewed,
    Requested,
    Rerouted,
    TeardownFailed,
    TornDown,
)
from atoll.domain.sandboxes.task import reset_task
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.wire.words.sandboxes import SetupState, State

_MAY_STAND: Final = frozenset({State.STOPPED, State.PROVISIONING})
"""States in which a machine of before may still stand."""


def step_report(
    sandbox: Sandbox,
    stimulus: Requested | Reached | Renewed | Broke | Rerouted | TornDown | TeardownFailed,
    now: datetime,
) -> Outcome:
    """Return the outcome of a report about provisioning or teardown."""
    match stimulus:
        case Requested():
            return _request(sandbox, now)
        case Reached():
            return _become_ready(sandbox, stimulus, now)
        case Renewed(generation):
            return _renew(sandbox, generation)
        case Broke(generation, reason):
            return _fail(sandbox, now, generation=generation, reason=reason)
        case Rerouted():
            return _reroute(sandbox, stimulus, now)
        case TornDown():
            return _finish_teardown(sandbox, stimulus, now)
        case TeardownFailed():  # pragma: no branch - the cases are all
            return _hold_teardown(sandbox, stimulus, now)


def _request(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.state is not State.REQUESTED:
        return sandbox, ()
    if is_queued(sandbox) and sandbox.task is not None:
        # Its time to live begins now: nothing ran while it waited.
        sandbox = replace(renew_lifetime(sandbox, now), task=reset_task(sandbox.task))
    return enter(sandbox, State.PROVISIONING, now), (
        Append("sandbox.provisioning"),
        Provision(sandbox.generation),
    )


def _become_ready(sandbox: Sandbox, report: Reached, now: datetime) -> Outcome:
    if report.generation != sandbox.generation or sandbox.state is not State.PROVISIONING:
        return sandbox, ()
    ready = replace(enter(sandbox, State.READY, now), attachment=report.attachment, ready_at=now)
    if report.repos is not None:
        ready = replace(ready, repos=report.repos)
    if report.instructions is not None:
        ready = replace(ready, instructions=report.instructions)
    events: tuple[Instruction, ...] = (Append("sandbox.ready"),)
    if report.task is not None and report.task != sandbox.task:
        ready = replace(ready, task=report.task)
        events = (*events, Append(f"task.{report.task.state}", report.task.reason))
    if report.project is not None:
        project, setup_events = _project_at_start(sandbox.project, report.project)
        ready = replace(ready, project=await_servers(project))
        events = (*events, *setup_events)
    # The new runtime reports the resumed agents, under their new ids.
    return replace(ready, agents=(), resuming=False), events


def _project_at_start(
    before: SandboxProject | None, after: SandboxProject
) -> tuple[SandboxProject, tuple[Append, ...]]:
    """Return the project in a new runtime. A set-up that ran in the former one was broken off."""
    if after == before:
        return interrupt_setup(after), ()
    if after.state is SetupState.RUNNING:
        return after, (setup_event("sandbox.setup_started", after),)
    return after, (setup_event("sandbox.setup_ended", after),)


def _renew(sandbox: Sandbox, generation: int) -> Outcome:
    if generation != sandbox.generation or not sandbox.renewing:
        return sandbox, ()
    return replace(sandbox, renewing=False, ready_at=None, exposed_secrets=()), ()


def _fail(sandbox: Sandbox, now: datetime, *, generation: int, reason: str) -> Outcome:
    if generation != sandbox.generation or sandbox.state not in LIVE - {State.STOPPED}:
        return sandbox, ()
    return end_life(sandbox, State.FAILED, now, reason=reason)


def _reroute(sandbox: Sandbox, report: Rerouted, now: datetime) -> Outcome:
    if report.generation != sandbox.generation or sandbox.state is not State.PROVISIONING:
        return sandbox, ()
    moved = replace(
        sandbox,
        profile=replace(sandbox.profile, extension=report.extension),
        host=report.host,
        region=report.region,
        attachment=Attachment(),
        updated_at=now,
    )
    extra: dict[str, Json] = {
        "extension": report.extension,
        "host": report.host,
        "region": report.region,
    }
    event = Append("sandbox.rerouted", report.reason, extra)
    return moved, (event, Provision(sandbox.generation))


def _finish_teardown(sandbox: Sandbox, report: TornDown, now: datetime) -> Outcome:
    if report.generation != sandbox.generation:
        return sandbox, ()
    if report.kept and sandbox.state in _MAY_STAND and sandbox.standing:
        return replace(sandbox, reason=None, standing=False, updated_at=now), ()
    if report.kept or sandbox.state is not State.DESTROYING:
        return sandbox, ()
    gone = replace(
        enter(sandbox, State.DESTROYED, now),
        attachment=Attachment(),
        retained_until=None,
        relocation=None,
        leftovers=(),
    )
    extra: dict[str, Json] = {"removed": [*report.removed], "leftovers": [*report.leftovers]}
    return gone, (Append("sandbox.destroyed", None, extra),)


def _hold_teardown(sandbox: Sandbox, report: TeardownFailed, now: datetime) -> Outcome:
    if report.generation != sandbox.generation:
        return sandbox, ()
    if sandbox.state not in _MAY_STAND | {State.DESTROYING}:
        return sandbox, ()
    if (sandbox.reason, sandbox.leftovers) == (report.reason, report.leftovers):
        return sandbox, ()
    standing = replace(
        sandbox,
        reason=report.reason,
        leftovers=report.leftovers,
        standing=True,
        updated_at=now,
    )
    if not report.leftovers or report.leftovers == sandbox.leftovers:
        return standing, ()
    extra: dict[str, Json] = {"leftovers": [*report.leftovers]}
    return standing, (Append("sandbox.destroy_held", report.reason, extra),)
