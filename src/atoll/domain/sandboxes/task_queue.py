"""The queue of a person's tasks: which have a place, and which are next.

Pure. A task holds a place from the start of its sandbox until its agents have ended their turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.project import is_ready_for_agent
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.wire.words.sandboxes import SetupState, State, TaskState

SILENT_SECONDS = 120
"""The time for which an agent that has reported no turn counts as at work: some never report."""


@dataclass(frozen=True, slots=True)
class QueueDecision:
    """The queued tasks that may start now, and how many come before each of the others."""

    starting: tuple[SandboxId, ...] = ()
    waiting: tuple[tuple[SandboxId, int], ...] = ()


def is_queued(sandbox: Sandbox) -> bool:
    """Report whether the sandbox waits for a place for its task."""
    task = sandbox.task
    return sandbox.state is State.REQUESTED and task is not None and task.state is TaskState.QUEUED


def is_waiting(sandbox: Sandbox) -> bool:
    """Report whether the sandbox runs and its task still waits, for its set-up."""
    task = sandbox.task
    return sandbox.state in RUNNING and task is not None and task.state is TaskState.WAITING


def servers_due(sandbox: Sandbox) -> bool:
    """Report whether the sandbox runs and its servers may start: no set-up is before them."""
    project = sandbox.project
    return (
        sandbox.state in RUNNING
        and project is not None
        and project.awaits_servers
        and is_ready_for_agent(project)
    )


def waits_for_person(sandbox: Sandbox) -> bool:
    """Report whether the set-up failed, so that a person decides on the waiting task."""
    project = sandbox.project
    return is_waiting(sandbox) and project is not None and project.state is SetupState.FAILED


def decide(
    sandboxes: Sequence[Sandbox],
    agents: Mapping[SandboxId, Sequence[ReportedAgent]],
    now: datetime,
) -> QueueDecision:
    """Return the decision on one person's sandboxes; the oldest queued task is first."""
    working = sum(holds_place(one, agents.get(one.id, ()), now) for one in sandboxes)
    starting: list[SandboxId] = []
    waiting: list[tuple[SandboxId, int]] = []
    line = sorted(filter(is_queued, sandboxes), key=lambda one: (one.created_at, one.id))
    for sandbox in line:
        most = None if sandbox.task is None else sandbox.task.max_working
        if most is None or working < most:
            working += 1
            starting.append(sandbox.id)
        else:
            waiting.append((sandbox.id, len(waiting)))
    return QueueDecision(tuple(starting), tuple(waiting))


def holds_place(sandbox: Sandbox, agents: Sequence[ReportedAgent], now: datetime) -> bool:
    """Report whether the sandbox's task is at work, or about to be."""
    task = sandbox.task
    if task is None or task.state in (TaskState.QUEUED, TaskState.FAILED):
        return False
    if sandbox.state is State.PROVISIONING:
        return True
    if sandbox.state not in RUNNING:
        return False
    if task.state is TaskState.WAITING:
        return sandbox.project is None or sandbox.project.state is not SetupState.FAILED
    if any(one.status.status in ("working", "needs_you") for one in agents):
        return True
    silent = all(one.status.status == "idle" and not one.status.turns for one in agents)
    began = sandbox.ready_at or sandbox.created_at
    return silent and (now - began).total_seconds() < SILENT_SECONDS
