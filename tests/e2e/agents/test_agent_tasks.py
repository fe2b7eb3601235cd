"""A task: a real agent is at work on it when `atoll new` returns, with its instructions first."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, sandbox_for
from tests.e2e.agents.test_agent_control import reading

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

TASK = "Mend the heron's nest."


@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_is_at_work_on_its_task_when_the_command_returns(
    w: World,
    agent: str,
    repository: Path,
    tmp_path: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    (tmp_path / "start.md").write_text("Greet it first.")
    await asyncio.to_thread(provide_agent, w.server, agent)
    words = ("--instructions", str(tmp_path / "start.md"), "--prompt", TASK)
    sandbox = await sandbox_for(w, agent, repository, *words)
    made = (await w.api.get(f"/v1/sandboxes/{sandbox}")).json()
    assert (made["task"]["state"], made["repos"][0]["branch"]) == ("given", "mend-herons-nest")
    (working,) = (await w.api.get(f"/v1/sandboxes/{sandbox}/agents")).json()["agents"]
    here = f"/v1/sandboxes/{sandbox}/terminals/{working['id']}"
    async with reading(w, f"{here}/cards") as cards:
        await cards.until(lambda r: r.turns("done") == 1)
    asked = next(body for body in w.model.bodies if TASK in body)
    assert asked.index("Greet it first.") < asked.index(TASK)
