"""Checkpoints of real agents: two turns change files, and the person goes back to before one."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run, sandbox_for
from tests.e2e.agents.test_agent_control import reading

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]


async def test_person_goes_back_to_before_the_second_turn(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    agent = "codex"

    def asked(command: str) -> dict[str, str]:
        return {"prompt": f"Please write. [[tool {TOOLS[agent].format(command=command)}]]"}

    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    here = f"/v1/sandboxes/{sandbox}"
    ignored = "echo kept.log > .gitignore; echo log > kept.log"
    assert (await run(w, sandbox, "sh", "-c", ignored))[0] == 0
    first = {"agent": agent, **asked("echo one > made.txt")}
    opened = await w.api.post(f"{here}/agents", json=first)
    assert opened.status_code == 201, opened.text
    terminal = f"{here}/terminals/{opened.json()['id']}"
    async with reading(w, f"{terminal}/cards") as cards:
        await cards.until(lambda one: one.turns("done") == 1)
        # What this person writes between the turns is not the agent's.
        assert (await run(w, sandbox, "sh", "-c", "echo mine > mine.txt"))[0] == 0
        second = asked("echo two > made.txt; echo more > second.txt; echo more >> kept.log")
        answer = await w.api.post(f"{terminal}/ask", json=second)
        assert answer.status_code == 202, answer.text
        await cards.until(lambda one: one.turns("done") == 2)
    points = (await w.api.get(f"{here}/checkpoints")).json()["checkpoints"]
    assert [one["subject"] for one in points] == [f"Before a turn of {agent}"] * 2, points
    turn = {"against": "turn", "checkpoint": points[0]["number"]}
    changes = (await w.api.get(f"{here}/changes", params=turn)).json()["files"]
    assert [(one["path"], one["kind"]) for one in changes] == [
        ("made.txt", "modified"), ("second.txt", "added"),
    ]  # fmt: skip
    back = await w.api.post(f"{here}/checkpoints/{points[0]['number']}/restore")
    assert back.is_success, back.text
    told = "cat made.txt mine.txt kept.log; ls second.txt 2>/dev/null"
    _, said = await run(w, sandbox, "sh", "-c", told)
    assert said == b"one\nmine\nlog\nmore\n"
