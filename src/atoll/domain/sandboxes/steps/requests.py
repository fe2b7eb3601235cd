"""Steps that somebody requests: stop, start, recreate, destroy, more time, a network, an owner."""

from dataclasses import replace
from datetime import datetime

from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId, SnapshotId
from atoll.domain.network.switch import NetworkChange, change_network, event_fields
from atoll.domain.sandboxes.instruction import Append, Provision, Teardown
from atoll.domain.sandboxes.lifetime import extend_lifetime, renew_lifetime
from atoll.domain.sandboxes.project import (
    reset_setup,
)
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox, keeps_files
from atoll.domain.sandboxes.steps.outcome import Outcome, enter, state_refusal
from atoll.domain.sandboxes.steps.relocation import check_in_place
from atoll.domain.sandboxes.stimulus import (
    Destroy,
    ExtendTtl,
    Give,
    Recreate,
    Start,
    Stop,
    SwitchNetwork,
)
from atoll.domain.sandboxes.task import reset_task
from atoll.wire.words.sandboxes import State


def step_request(
    sandbox: Sandbox,
    stimulus: Stop | Start | Recreate | Destroy | ExtendTtl | SwitchNetwork | Give,
    now: datetime,
) -> Outcome:
    """Return the outcome of a request. Raises `Conflict` when the state does not allow it."""
    match stimulus:
        case Stop():
            return stop_running(sandbox, now)
        case Start(resume_agents):
            return start(sandbox, now, resume_agents)
        case Recreate(seed, source):
            return _recreate(sandbox, now, seed, source)
        case Destroy(kept_at):
            return destroy(sandbox, now, kept_at=kept_at)
        case ExtendTtl(seconds):
            return _extend(sandbox, now, seconds)
        case Give(owner):
            return _give(sandbox, now, owner)
        case SwitchNetwork(change):  # pragma: no branch - the cases are all
            return _switch_network(sandbox, now, change)


def stop_running(sandbox: Sandbox, now: datetime, *, reason: str | None = None) -> Outcome:
    """Return a running sandbox, or one that sleeps, as stopped. Raises `Conflict` for another
    one."""
    if sandbox.asleep:
        return enter(sandbox, State.STOPPED, now, reason=reason), (
            Append("sandbox.stopped", reason),
        )
    if sandbox.state not in RUNNING:
        raise state_refusal(sandbox, "stopped", "only a ready or active one can be")
    return enter(sandbox, State.STOPPED, now, reason=reason), (
        Append("sandbox.stopped", reason),
        Teardown(sandbox.generation, keep_state=True),
    )


def start(sandbox: Sandbox, now: datetime, resume_agents: bool | None) -> Outcome:
    """Return the sandbox as it starts. Raises `Conflict` for one without files to start with, and
    for an archived one, which is revived."""
    if sandbox.archived_at is not None:
        raise Conflict(
            f"Sandbox {sandbox.name} is archived: revive it (`atoll revive {sandbox.name}`).",
            code="archived",
        )
    if not keeps_files(sandbox):
        hint = "only a stopped or expired one can be, or one that failed after it was ready"
        raise state_refusal(sandbox, "started", hint)
    check_in_place(sandbox, "started")
    resuming = sandbox.profile.resume_agents if resume_agents is None else resume_agents
    began = "woken" if sandbox.asleep else "started"
    begun = replace(
        # A recreate that failed left the workspace as it was: that workspace is started.
        enter(
            renew_lifetime(sandbox, now) if sandbox.state in KEPT else sandbox,
            State.PROVISIONING,
            now,
        ),
        resuming=resuming,
        renewing=False,
    )
    return begun, (
        Append("sandbox.provisioning", began),
        Provision(sandbox.generation),
    )


def _recreate(
    sandbox: Sandbox, now: datetime, seed: SnapshotId | None, source: Sandbox | None
) -> Outcome:
    if sandbox.state not in RUNNING | KEPT | {State.STOPPED}:
        raise state_refusal(sandbox, "recreated", "wait until it is ready, or make a new one")
    check_in_place(sandbox, "recreated")
    # A sandbox that never became ready has no workspace whose commits could be lost.
    renewing = sandbox.ready_at is not None
    fresh = replace(
        enter(renew_lifetime(sandbox, now), State.PROVISIONING, now),
        generation=sandbox.generation + 1,
        archived_at=None,
        asleep_since=None,
        renewing=renewing,
        agents=(),
        resuming=False,
        pulled=(),
        instructed=False,
        task=None if sandbox.task is None else reset_task(sandbox.task),
        project=None if sandbox.project is None else reset_setup(sandbox.project),
    )
    began = "recreated"
    if source is not None:
        fresh, began = _as_it_was(fresh, source), "restored"
    return replace(fresh, seed=seed), (
        Append("sandbox.provisioning", began),
        Provision(fresh.generation, renew=renewing),
    )


def _as_it_was(sandbox: Sandbox, source: Sandbox) -> Sandbox:
    """Return a sandbox that begins anew as it once was: with its branches, its agents and what they
    had been told."""
    return replace(
        sandbox,
        repos=source.repos,
        agents=source.agents,
        resuming=bool(source.agents),
        instructed=source.instructed,
        task=source.task,
        project=source.project,
    )


def destroy(sandbox: Sandbox, now: datetime, *, kept_at: str | None) -> Outcome:
    """Return a sandbox whose destruction begins, or is tried again where it rests; `kept_at` says
    where its files are kept."""
    if sandbox.state in (State.DESTROYING, State.DESTROYED):
        retried = Teardown(sandbox.generation, keep_state=False)
        return sandbox, (retried,) if sandbox.leftovers else ()
    destroying = replace(
        enter(sandbox, State.DESTROYING, now, reason=sandbox.reason), kept_at=kept_at
    )
    extra: dict[str, Json] = {} if kept_at is None else {"kept_at": kept_at}
    return destroying, (
        Append("sandbox.destroying", sandbox.reason, extra),
        Teardown(sandbox.generation, keep_state=False),
    )


def _extend(sandbox: Sandbox, now: datetime, seconds: int) -> Outcome:
    if sandbox.state not in LIVE | KEPT:
        raise state_refusal(sandbox, "given more time", "recreate it or make a new one")
    longer = extend_lifetime(sandbox, now, seconds)
    kept = longer.retained_until
    until = {"expires_at": longer.expires_at} if kept is None else {"retained_until": kept}
    extra: dict[str, Json] = {name: at.isoformat() for name, at in until.items()}
    return longer, (Append("sandbox.ttl_extended", None, extra),)


def _switch_network(sandbox: Sandbox, now: datetime, change: NetworkChange) -> Outcome:
    if sandbox.state not in LIVE | KEPT:
        raise state_refusal(sandbox, "given another network", "it is going away")
    network = change_network(sandbox.profile.network, change)
    if network == sandbox.profile.network:
        return sandbox, ()
    switched = replace(sandbox, profile=replace(sandbox.profile, network=network), updated_at=now)
    return switched, (Append("network.switched", None, event_fields(network)),)


def _give(sandbox: Sandbox, now: datetime, owner: PrincipalId) -> Outcome:
    # While it runs, values of the former owner's secrets may be in its processes.
    if sandbox.state is not State.STOPPED and sandbox.state not in KEPT:
        raise state_refusal(sandbox, "given to somebody", "only one that does not run can be")
    if owner == sandbox.owner:
        return sandbox, ()
    facts: dict[str, Json] = {"from": sandbox.owner, "to": owner}
    # What its terminals showed is not for the new owner, nor are its events for the former one.
    given = replace(sandbox, owner=owner, asleep_since=None, lifecycle_webhook=None, updated_at=now)
    return given, (Append("sandbox.given", None, facts),)
