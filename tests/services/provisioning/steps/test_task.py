"""A task: its agent is at work on it when its sandbox is ready, and has it once."""

from typing import Any

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, RepoRequest, Sandbox, SetupMetadata
from atoll.domain.sandboxes.task import TaskRequest
from atoll.wire.words.sandboxes import AgentMode, TaskState
from tests.peers.contract import AGENT
from tests.services.scene import Scene, body_of, scene

OPEN = ("POST", "/agents")


async def working(s: Scene, task: TaskRequest, **request: Any) -> Sandbox:
    s.runtime.answers["POST", "/execs"] = (200, {"exit": {"exit_code": 0}})
    s.runtime.answers.setdefault(("GET", "/agents"), (200, {"agents": []}))
    s.runtime.answers.setdefault(OPEN, (201, AGENT))
    return await s.ready(**{"agent": "codex", **request}, task=task)


def orders(s: Scene) -> list[dict[str, Any]]:
    return [body_of(call) for call in s.runtime.calls if (call.method, call.path) == OPEN]


async def test_agent_has_its_task_when_the_sandbox_is_ready() -> None:
    async with scene() as s:
        setup = SetupMetadata(instructions="Read first.")
        sandbox = await working(s, TaskRequest("Fix it."), setup_metadata=setup)
        assert orders(s) == [
            {
                "agent": "codex",
                "prompt": "Fix it.",
                "instructions": "Read first.",
                "instructions_id": 1,
            }
        ]
        assert sandbox.task is not None and sandbox.task.state is TaskState.GIVEN
        assert "task.given" in await s.kinds(await s.until(sandbox, "active"))


async def test_machine_receives_its_task_and_asks_before_it_acts() -> None:
    async with scene() as s:
        await working(s, TaskRequest("Fix it.", AgentMode.MACHINE, asks=True))
        (order,) = orders(s)
        assert (order["mode"], order["permissions"]) == ("machine", "ask")


async def test_agent_that_does_not_start_is_said_and_the_sandbox_is_ready() -> None:
    async with scene() as s:
        s.runtime.answers[OPEN] = (422, {"code": "invalid", "detail": "no such program"})
        sandbox = await working(s, TaskRequest("Fix it."))
        assert sandbox.state == "ready" and sandbox.task is not None
        assert (sandbox.task.state, sandbox.task.reason) == (TaskState.FAILED, "no such program")
        # What an idle sandbox is called may be said after it.
        kinds = [kind for kind in await s.kinds(sandbox) if kind != "sandbox.active"]
        assert kinds[-1] == "task.failed"


async def test_task_is_given_once_over_a_stop_and_again_after_a_recreate() -> None:
    async with scene() as s:
        sandbox = await working(s, TaskRequest("Fix it."))
        await s.sandboxes.stop(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        await s.sandboxes.start(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert len(orders(s)) == 1
        await s.sandboxes.recreate(LOCAL_PERSON, sandbox.id)
        await s.sandboxes.wait(LOCAL_PERSON, sandbox.id, settled=True)
        assert len(orders(s)) == 2


async def test_start_that_was_broken_off_gives_the_task_once() -> None:
    async with scene() as s:
        s.runtime.answers["GET", "/agents"] = (200, {"agents": [AGENT]})
        ready = await working(s, TaskRequest("Fix it."))
        assert orders(s) == []
        assert ready.task is not None and ready.task.state is TaskState.GIVEN


async def test_shell_is_given_no_prompt_that_it_would_run() -> None:
    async with scene() as s:
        request = CreateSandbox("bare", agent="shell", task=TaskRequest("rm -rf /"))
        with pytest.raises(Invalid, match="run the prompt as a command"):
            await s.sandboxes.create(LOCAL_PERSON, request)


async def test_branches_that_are_named_here_differ_as_the_sandboxes_do() -> None:
    async with scene() as s:
        repos = (RepoRequest("o/r"),)
        made = [await s.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare", repos=repos))]
        made += [await s.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare", repos=repos))]
        task = TaskRequest("修复登录")
        for _ in range(2):
            asked = CreateSandbox("bare", repos=repos, task=task, agent="codex")
            made.append(await s.sandboxes.create(LOCAL_PERSON, asked))
        names = [one.repos[0].branch for one in made]
        assert len(set(names)) == 4
        assert names[1] == f"{names[0]}-2" and names[3] == f"{names[2]}-2"
