"""The queue of tasks: who holds a place, and who is next."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.ids import SandboxId
from atoll.domain.repository.project import ProjectFile
from atoll.domain.sandboxes.lifecycle import step
from atoll.domain.sandboxes.project import SandboxProject, is_ready_for_agent
from atoll.domain.sandboxes.reported import ReportedAgent
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Queued, Requested, TaskBegan
from atoll.domain.sandboxes.task import Task
from atoll.domain.sandboxes.task_queue import (
    QueueDecision,
    decide,
    holds_place,
    is_queued,
    is_waiting,
    waits_for_person,
)
from atoll.wire.contract.agents import StatusKind, StatusRecord
from atoll.wire.words.sandboxes import SetupState, State, TaskState
from tests.domain.sandboxes.test_lifecycle import new_sandbox

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def sandbox(number: int, state: State, task: TaskState, *, most: int = 2) -> Sandbox:
    at = NOW + timedelta(seconds=number)
    words = Task("Go.", state=task, max_working=most)
    box = replace(new_sandbox(), id=SandboxId(f"sb_{number}"), created_at=at)
    return replace(box, state=state, task=words)


def agent(status: StatusKind, turns: int = 0) -> ReportedAgent:
    return ReportedAgent("t_1", "codex", "tui", StatusRecord(status, "", turns=turns))


@pytest.mark.parametrize(
    ("state", "task", "agents", "seconds", "holds"),
    [
        (State.PROVISIONING, TaskState.WAITING, [], 0, True),
        (State.REQUESTED, TaskState.QUEUED, [], 0, False),
        (State.ACTIVE, TaskState.GIVEN, [], 0, True),
        (State.ACTIVE, TaskState.GIVEN, [agent("idle")], 0, True),
        (State.ACTIVE, TaskState.GIVEN, [agent("idle")], 500, False),
        (State.ACTIVE, TaskState.GIVEN, [agent("working")], 500, True),
        (State.ACTIVE, TaskState.GIVEN, [agent("needs_you")], 500, True),
        (State.ACTIVE, TaskState.GIVEN, [agent("done", 1)], 0, False),
        (State.ACTIVE, TaskState.GIVEN, [agent("done", 1), agent("working")], 0, True),
        (State.ACTIVE, TaskState.GIVEN, [agent("failed")], 0, False),
        (State.READY, TaskState.FAILED, [], 0, False),
        (State.STOPPED, TaskState.GIVEN, [agent("working")], 0, False),
        (State.FAILED, TaskState.GIVEN, [], 0, False),
    ],
)
def test_task_holds_a_place_until_its_agents_ended_their_turns(
    state: State, task: TaskState, agents: list[ReportedAgent], seconds: int, holds: bool
) -> None:
    box = sandbox(1, state, task)
    assert holds_place(box, agents, box.created_at + timedelta(seconds=seconds)) is holds


def test_oldest_task_starts_when_there_is_a_place_and_the_others_know_theirs() -> None:
    working = sandbox(1, State.ACTIVE, TaskState.GIVEN)
    line = [sandbox(number, State.REQUESTED, TaskState.QUEUED) for number in (5, 4, 3, 2)]
    found = decide([*line, working], {working.id: [agent("working")]}, NOW)
    places = ((SandboxId("sb_3"), 0), (SandboxId("sb_4"), 1), (SandboxId("sb_5"), 2))
    assert found == QueueDecision((SandboxId("sb_2"),), places)
    assert len(decide(line, {}, NOW).starting) == 2


def test_task_moves_up_and_its_time_begins_when_it_starts() -> None:
    box = sandbox(1, State.REQUESTED, TaskState.QUEUED)
    moved, told = step(box, Queued(2), NOW)
    assert moved.task is not None and moved.task.before == 2 and len(told) == 1
    assert step(moved, Queued(2), NOW) == (moved, ())
    later = NOW + timedelta(days=1)
    begun, _ = step(moved, Requested(), later)
    assert begun.state is State.PROVISIONING and not is_queued(begun)
    assert begun.task is not None and (begun.task.state, begun.task.before) == ("waiting", 0)
    assert begun.expires_at > later
    assert step(begun, Queued(1), NOW) == (begun, ())


@pytest.mark.parametrize(
    ("setup", "begins", "waits", "holds"),
    [
        (None, True, False, True),
        (SetupState.NONE, True, False, True),
        (SetupState.WAITING, False, False, True),
        (SetupState.RUNNING, False, False, True),
        (SetupState.DONE, True, False, True),
        (SetupState.FAILED, False, True, False),
    ],
)
def test_task_waits_for_its_setup_and_for_its_person_after_a_failure(
    setup: SetupState | None, begins: bool, waits: bool, holds: bool
) -> None:
    project = None
    if setup is not None:
        project = SandboxProject("o/r", "d", ProjectFile("f"), state=setup)
    box = replace(sandbox(1, State.READY, TaskState.WAITING), project=project)
    assert is_ready_for_agent(project) is begins
    assert waits_for_person(box) is waits
    assert holds_place(box, [], NOW + timedelta(seconds=9999)) is holds


def test_task_that_began_is_reported_once_and_for_its_generation() -> None:
    box = sandbox(1, State.READY, TaskState.WAITING)
    given = Task("Go.", state=TaskState.GIVEN)
    assert step(box, TaskBegan(box.generation + 1, given), NOW) == (box, ())
    begun, (told,) = step(box, TaskBegan(box.generation, given), NOW)
    assert begun.task == given and told.event_type == "task.given"  # type: ignore[union-attr]
    assert not is_waiting(begun) and step(begun, TaskBegan(box.generation, given), NOW)[1] == ()
