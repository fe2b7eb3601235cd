"""Real agents among the services of a compose file, on a host's Docker over SSH."""

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.domain.agents.registry import find
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import KEY, run, sandbox_for, world
from tests.e2e.agents.test_agents import prompt
from tests.peers.api import Api, api_of
from tests.peers.canary import LEAVE_MARK, assert_nowhere
from tests.peers.docker_daemon import IMAGE, DockerDaemon, why_not
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

NOT_HERE = (
    missing()
    or why_not()
    or (
        "" if shutil.which("docker-compose") else "no compose here (apt-get install docker-compose)"
    )
)
pytestmark = [
    pytest.mark.agents,
    pytest.mark.docker,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
]
FILE = f"""\
services:
  web:
    image: {IMAGE}
    init: true
    command: python3 -m http.server --directory /usr/share 8000
  agent:
    image: {IMAGE}
    depends_on: [web]
    environment: {{GREETING: hello}}
"""
ASK = """
import os, urllib.request
print(os.environ["GREETING"], urllib.request.urlopen("http://web:8000", timeout=9).status)
"""
DIRECT = """
import socket
try:
    socket.create_connection(("1.1.1.1", 53), 2)
except OSError as error:
    print("closed")
"""


@pytest.fixture(scope="module")
def box(daemon: DockerDaemon) -> Iterator[SshServer]:
    with throwaway_ssh_server(daemon.folder / "d.sock") as running:
        yield running


def add_host(api: Api, box: SshServer) -> None:
    added = api.call("POST", "/v1/hosts", json={"address": box.address, "name": "box"})
    box.authorize(added["authorized_key"])


def commit(repository: Path) -> None:
    (repository / "compose.yaml").write_text(FILE)
    git = ["git", "-C", str(repository), "-c", "user.name=T", "-c", "user.email=t@example.invalid"]
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "compose"], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_agent_finishes_a_task_among_services(
    agent: str,
    box: SshServer,
    daemon: DockerDaemon,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    commit(repository)
    async with world(KEY, config='extensions = ["namespaces", "compose-ssh"]\n') as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        with api_of(w.server) as api:
            await asyncio.to_thread(add_host, api, box)
        how = ("--profile", "compose-e2e", "--compose", "repo:compose.yaml")
        sandbox = await sandbox_for(w, agent, repository, *how)
        words = prompt(agent, "echo written by an agent > made.txt")
        code, said = await run(w, sandbox, *find(agent).task_argv, words, timeout=120)
        assert code == 0, said.decode()
        assert await run(w, sandbox, "cat", "made.txt") == (0, b"written by an agent\n")
        assert w.model.requests
        assert not w.model.rejected
        assert await run(w, sandbox, "python3", "-c", ASK) == (0, b"hello 200\n")
        assert await run(w, sandbox, "python3", "-c", DIRECT) == (0, b"closed\n")
        opened = await w.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"agent": agent})
        assert opened.status_code == 201, opened.text
        assert await run(w, sandbox, "sh", "-c", LEAVE_MARK) == (0, b"")
        assert_nowhere(box.home, box.processes(), KEY.encode())
        assert KEY not in daemon.run("inspect", *daemon.containers())
        done = await w.api.post(f"/v1/sandboxes/{sandbox}/destroy?wait=true&timeout=120")
        assert done.is_success, done.text
    assert daemon.containers() == []
