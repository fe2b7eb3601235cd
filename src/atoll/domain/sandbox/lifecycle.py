"""The life of a sandbox, as a pure state machine.

`step` takes what happened and returns the sandbox as it now is and what to do; it never waits,
reads a clock or touches a host. `services.sandboxes.reconciler` performs the instructions, in
order, and reports back with further stimuli.

Reports carry the generation they are about; one that comes too late (the sandbox has moved on)
changes nothing.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from atoll.domain.agent import resumable
from atoll.domain.duration import spell_duration
from atoll.domain.errors import Conflict
from atoll.domain.event import Json
from atoll.domain.ids import PrincipalId
from atoll.domain.network.switch import NetworkChange, changed, told
from atoll.domain.profile.profile import Scope
from atoll.domain.sandbox.instruction import Append, Instruction, Provision, Teardown
from atoll.domain.sandbox.lifetime import end_of, end_waits, extended, renewed, warning_at
from atoll.domain.sandbox.project import (
    SandboxProject,
    SetupState,
    setup_again,
    setup_began,
    setup_ended,
    setup_interrupted,
)
from atoll.domain.sandbox.sandbox import (
    KEPT,
    LIVE,
    RUNNING,
    Attachment,
    PulledTip,
    Sandbox,
    State,
    keeps_files,
)
from atoll.domain.sandbox.stimulus import (
    AcceptEnd,
    AgentConversed,
    AgentEnded,
    AgentReport,
    AgentStarted,
    Broke,
    ConsumerEnded,
    Destroy,
    Due,
    Exposed,
    ExtendTtl,
    Give,
    Idle,
    Instructed,
    Pulled,
    Queued,
    Reached,
    Recreate,
    Renewed,
    Requested,
    RuntimeBegan,
    SetupBegan,
    SetupEnded,
    Start,
    Stimulus,
    Stop,
    SwitchNetwork,
    TaskBegan,
    TeardownFailed,
    TornDown,
    Touched,
)
from atoll.domain.sandbox.task import again
from atoll.domain.sandbox.task_queue import is_queued, is_waiting

MAX_PULLED = 64
"""The number of commits remembered as pulled; the newest are kept."""

TOUCH_SECONDS = 30.0
"""The staleness of `last_active_at`: one write in this time, however busy the sandbox."""


Outcome = tuple[Sandbox, tuple[Instruction, ...]]


def step(sandbox: Sandbox, stimulus: Stimulus, now: datetime) -> Outcome:
    """Return the sandbox after a stimulus, and the instructions to perform.

    An unchanged sandbox with no instruction means that nothing happened. Raises `Conflict` when its
    state does not allow the act.
    """
    match stimulus:
        case Stop() | Start() | Recreate() | Destroy() | ExtendTtl() | SwitchNetwork() | Give():
            return _asked(sandbox, stimulus, now)
        case Due() | Idle() | Touched() | ConsumerEnded():
            return _in_time(sandbox, stimulus, now)
        case Exposed() | Pulled() | Instructed() | Queued() | AcceptEnd():
            return _noted(sandbox, stimulus)
        case SetupBegan() | SetupEnded() | TaskBegan():
            return _set_up(sandbox, stimulus)
        case AgentStarted() | AgentConversed() | AgentEnded() | RuntimeBegan():
            return _apply_report(sandbox, stimulus)
        case (
            Requested() | Reached() | Renewed() | Broke() | TornDown() | TeardownFailed()
        ):  # pragma: no branch - the cases are all
            return _reported(sandbox, stimulus, now)


def _asked(
    sandbox: Sandbox,
    stimulus: Stop | Start | Recreate | Destroy | ExtendTtl | SwitchNetwork | Give,
    now: datetime,
) -> Outcome:
    match stimulus:
        case Stop():
            return _stop(sandbox, now)
        case Start(resume_agents):
            return _start(sandbox, now, resume_agents)
        case Recreate():
            return _recreate(sandbox, now)
        case Destroy(kept_at):
            return _destroy(sandbox, now, kept_at=kept_at)
        case ExtendTtl(seconds):
            return _extend(sandbox, now, seconds)
        case Give(owner):
            return _give(sandbox, now, owner)
        case SwitchNetwork(change):  # pragma: no branch - the cases are all
            return _switch_network(sandbox, now, change)


def _noted(
    sandbox: Sandbox, stimulus: Exposed | Pulled | Instructed | Queued | AcceptEnd
) -> Outcome:
    match stimulus:
        case AcceptEnd():
            if not end_waits(sandbox):
                return sandbox, ()
            accepted = replace(sandbox, end_accepted=end_of(sandbox))
            return accepted, (Append("sandbox.end_accepted", None, _end_told(sandbox)),)
        case Exposed(names):
            return _exposed(sandbox, names)
        case Queued(before):
            return _moved_up(sandbox, before)
        case Pulled(repo, commit):
            return _pulled(sandbox, PulledTip(repo, commit))
        case Instructed(generation):  # pragma: no branch - the cases are all
            # A recreate gives the instructions again, whatever the former generation's journal
            # recorded.
            known = sandbox.instructed or generation != sandbox.generation
            return (sandbox if known else replace(sandbox, instructed=True)), ()


def _in_time(
    sandbox: Sandbox, stimulus: Due | Idle | Touched | ConsumerEnded, now: datetime
) -> Outcome:
    match stimulus:
        case ConsumerEnded():
            if sandbox.scope is not Scope.SESSION or sandbox.state not in LIVE:
                return sandbox, ()
            return _end(sandbox, State.EXPIRED, now, reason="Its consumer's session ended.")
        case Due():
            return _due(sandbox, now)
        case Idle():
            return _idle(sandbox, now, stimulus)
        case Touched():  # pragma: no branch - the cases are all
            return _touch(sandbox, now)


def _reported(
    sandbox: Sandbox,
    stimulus: Requested | Reached | Renewed | Broke | TornDown | TeardownFailed,
    now: datetime,
) -> Outcome:
    match stimulus:
        case Requested():
            return _request(sandbox, now)
        case Reached():
            return _reached(sandbox, stimulus, now)
        case Renewed(generation):
            return _renewed(sandbox, generation)
        case Broke(generation, reason):
            return _broke(sandbox, now, generation=generation, reason=reason)
        case TornDown():
            return _torn_down(sandbox, stimulus, now)
        case TeardownFailed():  # pragma: no branch - the cases are all
            return _left_standing(sandbox, stimulus, now)


def _enter(sandbox: Sandbox, state: State, now: datetime, *, reason: str | None = None) -> Sandbox:
    """Return `sandbox` in `state`, without the former state's reason."""
    return replace(sandbox, state=state, updated_at=now, reason=reason)


def _request(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.state is not State.REQUESTED:
        return sandbox, ()
    if is_queued(sandbox) and sandbox.task is not None:
        # Its time to live begins now: nothing ran while it waited.
        sandbox = replace(renewed(sandbox, now), task=again(sandbox.task))
    return _enter(sandbox, State.PROVISIONING, now), (
        Append("sandbox.provisioning"),
        Provision(sandbox.generation),
    )


def _moved_up(sandbox: Sandbox, before: int) -> Outcome:
    if sandbox.task is None or not is_queued(sandbox) or sandbox.task.before == before:
        return sandbox, ()
    moved = replace(sandbox, task=replace(sandbox.task, before=before))
    return moved, (Append("task.queued", None, {"before": before}),)


def _reached(sandbox: Sandbox, report: Reached, now: datetime) -> Outcome:
    if report.generation != sandbox.generation or sandbox.state is not State.PROVISIONING:
        return sandbox, ()
    ready = replace(_enter(sandbox, State.READY, now), attachment=report.attachment, ready_at=now)
    if report.repos is not None:
        ready = replace(ready, repos=report.repos)
    if report.instructions is not None:
        ready = replace(ready, instructions=report.instructions)
    told: tuple[Instruction, ...] = (Append("sandbox.ready"),)
    if report.task is not None and report.task != sandbox.task:
        ready = replace(ready, task=report.task)
        told = (*told, Append(f"task.{report.task.state}", report.task.reason))
    if report.project is not None:
        project, begun = _project_reached(sandbox.project, report.project)
        ready, told = replace(ready, project=project), (*told, *begun)
    # The new runtime reports the resumed agents, under their new ids.
    return replace(ready, agents=(), resuming=False), told


def _project_reached(
    before: SandboxProject | None, after: SandboxProject
) -> tuple[SandboxProject, tuple[Append, ...]]:
    """Return the project in a new runtime. A set-up that ran in the former one was broken off."""
    if after == before:
        return setup_interrupted(after), ()
    if after.state is SetupState.RUNNING:
        return after, (_setup_told("sandbox.setup_started", after),)
    return after, (_setup_told("sandbox.setup_ended", after),)


def _set_up(sandbox: Sandbox, report: SetupBegan | SetupEnded | TaskBegan) -> Outcome:
    if isinstance(report, TaskBegan):
        if report.generation != sandbox.generation or not is_waiting(sandbox):
            return sandbox, ()
        told = Append(f"task.{report.task.state}", report.task.reason)
        return replace(sandbox, task=report.task), (told,)
    project = sandbox.project
    if project is None:
        return sandbox, ()
    match report:
        case SetupBegan(terminal_id):
            if sandbox.state not in RUNNING:
                return sandbox, ()
            began = setup_began(project, terminal_id)
            told = _setup_told("sandbox.setup_started", began)
            return replace(sandbox, project=began), (told,)
        case SetupEnded(terminal_id, reason):  # pragma: no branch - the cases are all
            if (project.state, project.terminal_id) != (SetupState.RUNNING, terminal_id):
                return sandbox, ()
            ended = setup_ended(project, reason)
            told = _setup_told("sandbox.setup_ended", ended)
            return replace(sandbox, project=ended), (told,)


def _setup_told(kind: str, project: SandboxProject) -> Append:
    extra: dict[str, Json] = {"terminal_id": project.terminal_id, "setup": project.state.value}
    return Append(kind, project.reason, extra)


def _renewed(sandbox: Sandbox, generation: int) -> Outcome:
    if generation != sandbox.generation or not sandbox.renewing:
        return sandbox, ()
    return replace(sandbox, renewing=False, ready_at=None, exposed_secrets=()), ()


def _exposed(sandbox: Sandbox, names: tuple[str, ...]) -> Outcome:
    """Record exposed secrets: their values stay known inside until everything of that life is
    gone."""
    both = tuple(sorted({*sandbox.exposed_secrets, *names}))
    return (
        sandbox if both == sandbox.exposed_secrets else replace(sandbox, exposed_secrets=both)
    ), ()


def _pulled(sandbox: Sandbox, tip: PulledTip) -> Outcome:
    if tip in sandbox.pulled or sandbox.state in (State.DESTROYING, State.DESTROYED):
        return sandbox, ()
    known = replace(sandbox, pulled=(*sandbox.pulled, tip)[-MAX_PULLED:])
    return known, (Append("sandbox.pulled", None, {"repo": tip.repo, "commit": tip.commit}),)


def _apply_report(sandbox: Sandbox, report: AgentReport) -> Outcome:
    agents = sandbox.agents
    match report:
        case AgentStarted(agent):
            agents = resumable.with_agent(agents, agent)
        case AgentConversed(agent_id, conversation):
            agents = resumable.with_conversation(agents, agent_id, conversation)
        case AgentEnded(agent_id):
            agents = resumable.without_agent(agents, agent_id)
        case RuntimeBegan():  # pragma: no branch - the cases are all
            agents = ()
    return (sandbox if agents == sandbox.agents else replace(sandbox, agents=agents)), ()


def _left_standing(sandbox: Sandbox, report: TeardownFailed, now: datetime) -> Outcome:
    if report.generation != sandbox.generation or sandbox.state is not State.DESTROYING:
        return sandbox, ()
    return replace(sandbox, reason=report.reason, updated_at=now), ()


def _broke(sandbox: Sandbox, now: datetime, *, generation: int, reason: str) -> Outcome:
    if generation != sandbox.generation or sandbox.state not in LIVE - {State.STOPPED}:
        return sandbox, ()
    return _end(sandbox, State.FAILED, now, reason=reason)


def _end(sandbox: Sandbox, state: State, now: datetime, *, reason: str) -> Outcome:
    until = now + timedelta(seconds=sandbox.profile.ttl.retention_seconds)
    ended = replace(_enter(sandbox, state, now, reason=reason), retained_until=until)
    told = Append(f"sandbox.{state}", reason, {"retained_until": until.isoformat()})
    return ended, (told, Teardown(sandbox.generation, keep_state=True))


def _touch(sandbox: Sandbox, now: datetime) -> Outcome:
    match sandbox.state:
        case State.READY:
            active = replace(_enter(sandbox, State.ACTIVE, now), last_active_at=now)
            return active, (Append("sandbox.active"),)
        case State.ACTIVE:
            last = sandbox.last_active_at
            if last is not None and (now - last).total_seconds() < TOUCH_SECONDS:
                return sandbox, ()
            return replace(sandbox, last_active_at=now), ()
        case _:
            return sandbox, ()


def _due(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.state in LIVE:
        if now >= sandbox.expires_at:
            return _end(sandbox, State.EXPIRED, now, reason="Its time to live ran out.")
        return _warn(sandbox, now)
    until = sandbox.retained_until
    if sandbox.state in KEPT and until is not None and now >= until:
        return _destroy(sandbox, now, kept_at=None)
    return _warn(sandbox, now) if until is not None else (sandbox, ())


def _warn(sandbox: Sandbox, now: datetime) -> Outcome:
    """Warn once, for each end it is given, that it ends soon."""
    end = end_of(sandbox)
    if end is None or sandbox.warned_of == end or now < warning_at(sandbox):
        return sandbox, ()
    told = Append("sandbox.ends_soon", None, _end_told(sandbox))
    return replace(sandbox, warned_of=end), (told,)


def _end_told(sandbox: Sandbox) -> dict[str, Json]:
    end = end_of(sandbox) or sandbox.expires_at
    return {"expires_at": end.isoformat()}


def _idle(sandbox: Sandbox, now: datetime, idle: Idle) -> Outcome:
    ttl = sandbox.profile.ttl
    reap, stop = ttl.idle_reap_seconds, ttl.idle_stop_seconds
    if sandbox.state not in RUNNING or (reap is None and stop is None):
        return sandbox, ()
    if reap is not None and idle.idle_seconds >= reap:
        reason = f"Nothing was typed, run or changed in it for {reap} seconds."
        return _end(sandbox, State.EXPIRED, now, reason=reason)
    if stop is not None and idle.unused_seconds >= stop:
        return _stop(sandbox, now, reason=f"Nobody used it for {spell_duration(stop)}.")
    last = now - timedelta(seconds=max(0.0, idle.idle_seconds))
    used = now - timedelta(seconds=max(0.0, idle.unused_seconds))
    return replace(sandbox, last_active_at=last, last_used_at=used), ()


def _stop(sandbox: Sandbox, now: datetime, *, reason: str | None = None) -> Outcome:
    if sandbox.state not in RUNNING:
        raise _refused(sandbox, "stopped", "only a ready or active one can be")
    return _enter(sandbox, State.STOPPED, now, reason=reason), (
        Append("sandbox.stopped", reason),
        Teardown(sandbox.generation, keep_state=True),
    )


def _start(sandbox: Sandbox, now: datetime, resume_agents: bool | None) -> Outcome:
    if not keeps_files(sandbox):
        hint = "only a stopped or expired one can be, or one that failed after it was ready"
        raise _refused(sandbox, "started", hint)
    resuming = sandbox.profile.resume_agents if resume_agents is None else resume_agents
    begun = replace(
        # A recreate that failed left the workspace as it was: that workspace is started.
        _enter(
            renewed(sandbox, now) if sandbox.state in KEPT else sandbox, State.PROVISIONING, now
        ),
        resuming=resuming,
        renewing=False,
    )
    return begun, (
        Append("sandbox.provisioning", "started"),
        Provision(sandbox.generation),
    )


def _recreate(sandbox: Sandbox, now: datetime) -> Outcome:
    if sandbox.state not in RUNNING | KEPT | {State.STOPPED}:
        raise _refused(sandbox, "recreated", "wait until it is ready, or make a new one")
    # A sandbox that never became ready has no workspace whose commits could be lost.
    renewing = sandbox.ready_at is not None
    fresh = replace(
        _enter(renewed(sandbox, now), State.PROVISIONING, now),
        generation=sandbox.generation + 1,
        renewing=renewing,
        agents=(),
        resuming=False,
        pulled=(),
        instructed=False,
        task=None if sandbox.task is None else again(sandbox.task),
        project=None if sandbox.project is None else setup_again(sandbox.project),
    )
    return fresh, (
        Append("sandbox.provisioning", "recreated"),
        Provision(fresh.generation, renew=renewing),
    )


def _destroy(sandbox: Sandbox, now: datetime, *, kept_at: str | None) -> Outcome:
    if sandbox.state in (State.DESTROYING, State.DESTROYED):
        return sandbox, ()
    going = replace(_enter(sandbox, State.DESTROYING, now, reason=sandbox.reason), kept_at=kept_at)
    extra: dict[str, Json] = {} if kept_at is None else {"kept_at": kept_at}
    return going, (
        Append("sandbox.destroying", sandbox.reason, extra),
        Teardown(sandbox.generation, keep_state=False),
    )


def _extend(sandbox: Sandbox, now: datetime, seconds: int) -> Outcome:
    if sandbox.state not in LIVE | KEPT:
        raise _refused(sandbox, "given more time", "recreate it or make a new one")
    longer = extended(sandbox, now, seconds)
    kept = longer.retained_until
    until = {"expires_at": longer.expires_at} if kept is None else {"retained_until": kept}
    extra: dict[str, Json] = {name: at.isoformat() for name, at in until.items()}
    return longer, (Append("sandbox.ttl_extended", None, extra),)


def _switch_network(sandbox: Sandbox, now: datetime, change: NetworkChange) -> Outcome:
    if sandbox.state not in LIVE | KEPT:
        raise _refused(sandbox, "given another network", "it is going away")
    network = changed(sandbox.profile.network, change)
    if network == sandbox.profile.network:
        return sandbox, ()
    switched = replace(sandbox, profile=replace(sandbox.profile, network=network), updated_at=now)
    return switched, (Append("network.switched", None, told(network)),)


def _give(sandbox: Sandbox, now: datetime, owner: PrincipalId) -> Outcome:
    # While it runs, values of the former owner's secrets may be in its processes.
    if sandbox.state is not State.STOPPED and sandbox.state not in KEPT:
        raise _refused(sandbox, "given to somebody", "only one that does not run can be")
    if owner == sandbox.owner:
        return sandbox, ()
    told: dict[str, Json] = {"from": sandbox.owner, "to": owner}
    given = replace(sandbox, owner=owner, updated_at=now)
    return given, (Append("sandbox.given", None, told),)


def _torn_down(sandbox: Sandbox, report: TornDown, now: datetime) -> Outcome:
    if sandbox.state is not State.DESTROYING or report.generation != sandbox.generation:
        return sandbox, ()
    gone = replace(
        _enter(sandbox, State.DESTROYED, now), attachment=Attachment(), retained_until=None
    )
    extra: dict[str, Json] = {"removed": [*report.removed], "leftovers": [*report.leftovers]}
    return gone, (Append("sandbox.destroyed", None, extra),)


def _refused(sandbox: Sandbox, act: str, hint: str) -> Conflict:
    return Conflict(
        f"Sandbox {sandbox.name} ({sandbox.id}) is {sandbox.state} and cannot be {act}: {hint}."
    )
