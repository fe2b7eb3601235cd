"""Steps reported from inside a sandbox: its set-up, its task and its agents."""

from dataclasses import replace

from atoll.domain.agents import resumable
from atoll.domain.event import Json
from atoll.domain.sandboxes.instruction import Append
from atoll.domain.sandboxes.project import (
    SandboxProject,
    forget_prebuild,
    mark_setup_begun,
    mark_setup_ended,
)
from atoll.domain.sandboxes.sandbox import (
    RUNNING,
    Sandbox,
)
from atoll.domain.sandboxes.steps.outcome import Outcome
from atoll.domain.sandboxes.stimulus import (
    AgentConversed,
    AgentEnded,
    AgentReport,
    AgentStarted,
    PrebuildSettled,
    RuntimeBegan,
    ServersBegan,
    SetupBegan,
    SetupEnded,
    TaskBegan,
)
from atoll.domain.sandboxes.task_queue import is_waiting
from atoll.wire.words.sandboxes import SetupState


def step_setup(
    sandbox: Sandbox,
    report: SetupBegan | SetupEnded | PrebuildSettled | ServersBegan | TaskBegan,
) -> Outcome:
    """Return the outcome of a report about set-up, servers or task."""
    if isinstance(report, TaskBegan):
        return _step_task(sandbox, report)
    project = sandbox.project
    if project is None:
        return sandbox, ()
    match report:
        case SetupBegan(terminal_id):
            if sandbox.state not in RUNNING:
                return sandbox, ()
            # People and agents were at work by now.
            began = mark_setup_begun(forget_prebuild(project), terminal_id)
            told = setup_event("sandbox.setup_started", began)
            return replace(sandbox, project=began), (told,)
        case SetupEnded(terminal_id, reason):
            if (project.state, project.terminal_id) != (SetupState.RUNNING, terminal_id):
                return sandbox, ()
            ended = mark_setup_ended(project, reason)
            told = setup_event("sandbox.setup_ended", ended)
            return replace(sandbox, project=ended), (told,)
        case PrebuildSettled() | ServersBegan():  # pragma: no branch - the cases are all
            return replace(sandbox, project=_settle(sandbox, project, report)), ()


def _settle(
    sandbox: Sandbox, project: SandboxProject, report: PrebuildSettled | ServersBegan
) -> SandboxProject:
    """Return the project once something that waited for its set-up is done."""
    if isinstance(report, PrebuildSettled):
        same = project.prebuild_key == report.key
        return replace(project, prebuild_key=None) if same else project
    begun = sandbox.ready_at == report.ready_at
    return replace(project, awaits_servers=project.awaits_servers and not begun)


def _step_task(sandbox: Sandbox, report: TaskBegan) -> Outcome:
    if report.generation != sandbox.generation or not is_waiting(sandbox):
        return sandbox, ()
    told = Append(f"task.{report.task.state}", report.task.reason)
    return replace(sandbox, task=report.task), (told,)


def setup_event(kind: str, project: SandboxProject) -> Append:
    """Return the event about a set-up."""
    extra: dict[str, Json] = {"terminal_id": project.terminal_id, "setup": project.state.value}
    return Append(kind, project.reason, extra)


def step_agents(sandbox: Sandbox, report: AgentReport) -> Outcome:
    """Return the sandbox with the agents that can be resumed after a report."""
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
