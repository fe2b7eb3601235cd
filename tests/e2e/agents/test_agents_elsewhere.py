"""Real agents on another machine: they work through the broker, over the link."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.domain.agent.registry import find
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import KEY, run, sandbox_for, world
from tests.e2e.agents.test_agents import prompt
from tests.e2e.walls.test_ssh import PROFILE, config_of, processes
from tests.peers.canary import files_with, memory_holds
from tests.peers.machines.sshd import Sshd, missing, sshd

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(missing()), reason=missing()),
]


@pytest.fixture(scope="module")
def box() -> Iterator[Sshd]:
    with sshd() as running:
        yield running


@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_on_another_machine(
    agent: str,
    box: Sshd,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config=config_of(box)) as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        saved = await w.api.put("/v1/profiles/profile.far", json=PROFILE)
        assert saved.is_success, saved.text
        sandbox = await sandbox_for(w, agent, repository, "--profile", "far")
        words = prompt(agent, "echo written by an agent > made.txt")
        code, said = await run(w, sandbox, *find(agent).task_argv, words, timeout=120)
        assert code == 0, said.decode()
        code, text = await run(w, sandbox, "cat", "made.txt")
        assert (code, text) == (0, b"written by an agent\n")
        assert w.model.requests
        assert not w.model.rejected
        opened = await w.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"agent": agent})
        assert opened.status_code == 201, opened.text
        assert files_with(box.home, KEY.encode()) == []
        assert not [pid for pid in processes() if memory_holds(pid, KEY.encode())]
