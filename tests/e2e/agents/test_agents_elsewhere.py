"""Real agents on another machine: they work through the broker, over the link."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.domain.agent.registry import find
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import KEY, run, sandbox_for, world
from tests.e2e.agents.test_agents import prompt
from tests.e2e.walls.test_ssh import NOT_HERE, add_host
from tests.peers.api import api_of
from tests.peers.canary import files_with, memory_holds
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
]


@pytest.fixture(scope="module")
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_on_another_machine(
    agent: str,
    box: SshServer,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, config='extensions = ["namespaces", "ssh"]\n') as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        with api_of(w.server) as api:
            await asyncio.to_thread(add_host, api, box)
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
        assert not [pid for pid in box.processes() if memory_holds(pid, KEY.encode())]
