"""A task behind a set-up: it begins once that succeeded, or as its person decides."""

import asyncio
from typing import Any

import pytest

from atoll.domain.errors import Conflict, Invalid, NotFound
from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.task import Task, TaskRequest
from atoll.services.inbox.inbox import InboxAnswer
from atoll.wire.words.events import ActorKind
from atoll.wire.words.sandboxes import TaskState
from tests.peers.contract import AGENT, SESSION
from tests.services.inbox.test_inbox import inbox_of
from tests.services.provisioning.steps.test_project_setup import decided, made
from tests.services.provisioning.steps.test_task import orders
from tests.services.scene import Scene, scene

TERMINAL = ("GET", f"/sessions/{SESSION['session_id']}")


async def tasked(s: Scene, **request: Any) -> Sandbox:
    """A sandbox that is ready, with a set-up that runs and a task."""
    await decided(s)
    s.runtime.answers["GET", "/agents"] = (200, {"agents": [AGENT]})
    s.runtime.answers.setdefault(("POST", "/agents"), (201, AGENT))
    return await made(s, agent="codex", task=TaskRequest("Mend it.\x1b[2J"), **request)


async def exited(s: Scene, sandbox: Sandbox, code: int) -> Task:
    """Let the set-up end, and wait until that is known."""
    s.runtime.answers[TERMINAL] = (200, {**SESSION, "state": "exited", "exit": {"code": code}})
    async with asyncio.timeout(20):
        with s.bus.listen(f"sandbox:{sandbox.id}") as listener:
            while True:
                s.clock.turn(2)
                now = await s.sandboxes.get(LOCAL_PERSON, sandbox.id)
                assert now.project is not None and now.task is not None
                over = now.project.state in ("done", "failed")
                if over and (code or now.task.state is not TaskState.WAITING):
                    return now.task
                await listener.wait()


async def test_task_begins_once_its_setup_succeeded() -> None:
    async with scene() as s:
        sandbox = await tasked(s)
        assert sandbox.task is not None and sandbox.task.state is TaskState.WAITING
        s.clock.turn(2)
        assert orders(s) == []
        assert (await exited(s, sandbox, 0)).state is TaskState.GIVEN
        # An agent that a person opened meanwhile does not take its place.
        assert [one["prompt"] for one in orders(s)] == ["Mend it."]
        kinds = await s.kinds(sandbox)
        assert kinds.index("sandbox.setup_ended") < kinds.index("task.given")


async def test_agent_that_does_not_start_then_is_said() -> None:
    async with scene() as s:
        s.runtime.answers["POST", "/agents"] = (422, {"code": "invalid", "detail": "no program"})
        task = await exited(s, await tasked(s), 0)
        assert (task.state, task.reason) == (TaskState.FAILED, "no program")


@pytest.mark.parametrize(
    ("option", "state", "asked"),
    [
        ("begin", TaskState.GIVEN, 1),
        ("again", TaskState.GIVEN, 1),
        ("drop", TaskState.FAILED, 0),
    ],
)
async def test_task_waits_after_a_setup_that_failed_and_its_person_decides(
    option: str, state: TaskState, asked: int
) -> None:
    async with scene() as s:
        sandbox = await tasked(s)
        assert (await exited(s, sandbox, 3)).state is TaskState.WAITING and orders(s) == []
        inbox = inbox_of(s)
        (item,) = await inbox.list(LOCAL_PERSON)
        assert item.kind == "setup" and item.agent == "codex"
        assert item.lines == (
            "The set-up failed. A command ended with exit code 3.",
            "The task waits: Mend it.",
        )
        with pytest.raises(Invalid):
            await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, "other"))
        s.runtime.answers[TERMINAL] = (200, SESSION)
        await inbox.answer(LOCAL_PERSON, item.id, InboxAnswer(item.shown, option))
        assert await inbox.list(LOCAL_PERSON) == []
        if option == "again":
            await exited(s, sandbox, 0)
        now = await s.sandboxes.get(LOCAL_PERSON, sandbox.id)
        assert now.task is not None and now.task.state is state
        assert len(orders(s)) == asked


async def test_task_is_begun_by_its_owner_and_only_once() -> None:
    async with scene() as s:
        sandbox = await tasked(s)
        other = Principal(LOCAL_PERSON.org_id, PrincipalId("other"), ActorKind.PERSON)
        with pytest.raises(NotFound):
            await s.sandboxes.begin_task(other, sandbox.id)
        both = await asyncio.gather(
            *(s.sandboxes.begin_task(LOCAL_PERSON, sandbox.id) for _ in range(2)),
            return_exceptions=True,
        )
        (refused,) = [one for one in both if isinstance(one, BaseException)]
        assert isinstance(refused, Conflict) and refused.code == "no_task"
        assert len(orders(s)) == 1
        # A report that comes late changes nothing.
        await s.sandboxes.drop_task(LOCAL_PERSON, sandbox.id)
        now = await s.sandboxes.get(LOCAL_PERSON, sandbox.id)
        assert now.task is not None and now.task.state is TaskState.GIVEN


async def test_runtime_that_does_not_answer_is_asked_again() -> None:
    async with scene() as s:
        sandbox = await tasked(s)
        s.runtime.answers[TERMINAL] = (503, {"code": "unavailable", "detail": "busy"})
        s.clock.turn(2)
        await asyncio.sleep(0)
        assert (await exited(s, sandbox, 0)).state is TaskState.GIVEN
