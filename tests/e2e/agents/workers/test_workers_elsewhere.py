"""Workers behind other walls than this machine's own: nothing of an extension knows of workers."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import KEY, TOOLS, World, first_here, run, world
from tests.e2e.agents.workers.test_worker_threads import Case, driven
from tests.e2e.agents.workers.test_workers import asked, stream, until
from tests.e2e.walls.test_ssh import NOT_HERE, add_host
from tests.peers.api import api_of
from tests.peers.docker_daemon import DockerDaemon, why_not
from tests.peers.machines.ssh_server import SshServer, throwaway_ssh_server

pytestmark = [pytest.mark.agents, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def box() -> Iterator[SshServer]:
    with throwaway_ssh_server() as running:
        yield running


async def checked(w: World, *words: str) -> str:
    """The isolation that `atoll worker check` found; everything else held, and nothing is left."""
    said = await asyncio.to_thread(w.server.run, "worker", "check", *words)
    assert said.returncode == 0, said.stdout + said.stderr
    lines = said.stdout.splitlines()
    assert [one.partition(":")[0] for one in lines] == ["isolation", "request", "stream", "stop"]
    assert (await w.api.get("/v1/sandboxes")).json()["sandboxes"] == []
    return str(lines[0])


async def worked(w: World, agent: str, **body: Any) -> None:
    """A worker writes a file, is stopped, and is there again with its thread and file."""
    wanted = {"worker_id": "far", "agent": agent, **body}
    assert (await w.api.post("/v1/workers", json=wanted)).status_code == 201
    shown = await until(w, "far", "running")
    thread = (await asked(w, "far", "r1", "thread/start"))["thread"]["id"]
    command = TOOLS[agent].format(command="echo made > made.txt")
    words = [{"type": "text", "text": f"[[tool {command}]]"}]
    await asked(w, "far", "r2", "turn/start", threadId=thread, input=words)
    await stream(w, "far", "turn/completed")
    sandbox = shown["sandbox"]["id"]
    assert await run(w, sandbox, "cat", "made.txt") == (0, b"made\n")
    assert (await w.api.post("/v1/workers/far/stop")).status_code == 202
    await until(w, "far", "stopped")
    assert (await w.api.post("/v1/workers", json=wanted)).json()["reattached"] is True
    assert (await until(w, "far", "running"))["sandbox"]["id"] == sandbox
    assert await run(w, sandbox, "cat", "made.txt") == (0, b"made\n")
    listed = await asked(w, "far", "r3", "thread/list")
    assert thread in [one["id"] for one in listed["data"]]


@pytest.mark.docker
@pytest.mark.skipif(bool(why_not()), reason=str(why_not()))
@first_here("claude-code", "codex")
async def test_worker_is_in_a_container_of_docker(
    agent: str, daemon: DockerDaemon, provide_agent: Callable[[TestServer, str], None]
) -> None:
    async with world(KEY, daemon) as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        assert "on docker" in await checked(w, "--profile", "small", "--agent", agent)
        await worked(w, agent, profile="small")
        parallel = agent != "claude-code"
        await driven(w, Case(agent, parallel=parallel), profile="small")


@pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)
@pytest.mark.slow
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_worker_is_on_another_machine(
    agent: str, box: SshServer, provide_agent: Callable[[TestServer, str], None]
) -> None:
    async with world(KEY, config='extensions = ["namespaces", "ssh"]\n') as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        with api_of(w.server) as api:
            await asyncio.to_thread(add_host, api, box)
        assert "on ssh" in await checked(w, "--profile", "far", "--agent", agent)
        await worked(w, agent, profile="far")
