"""Real agent programs in real sandboxes: they work through the door, and the key stays out."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.domain.agents.registry import find
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, KEY, TOOLS, Wall, World, run, sandbox_for, world
from tests.peers.api import Pauses, api_of
from tests.peers.canary import HUNT, answers_with, files_with, memory_holds, pids_of
from tests.peers.docker_daemon import DockerDaemon, why_not

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]


@pytest.fixture
def wall(request: pytest.FixtureRequest) -> Wall:
    """The wall that the test asks for by its parameter."""
    match request.param:
        case "docker":
            daemon: DockerDaemon = request.getfixturevalue("daemon")
            return daemon
        case "rootless" if os.geteuid() == 0:
            return "rootless"
        case _:
            return None


def prompt(agent: str, command: str) -> str:
    if agent == "aider":
        return "Please write the file. [[write made.txt written by an agent]]"
    return f"Please write the file. [[tool {TOOLS[agent].format(command=command)}]]"


FAST = [pytest.param("namespaces", name, id=name) for name in ("codex", "claude-code")]
SLOWER = [
    # The installation is within this time: aider's, by pip, takes minutes on a busy machine.
    pytest.param("namespaces", name, id=name, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])
    for name in (*CHOICES,)
]
IN_CONTAINERS = [
    pytest.param(
        "docker",
        name,
        id=f"{name}-docker",
        marks=[
            pytest.mark.docker,
            pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
            *more,
        ],
    )
    # The container is the same for both: `make test-agents` has the second one.
    for name, more in (("codex", ()), ("claude-code", (pytest.mark.slow,)))
]
WITHOUT_RIGHTS = [
    pytest.param("rootless", name, id=f"{name}-rootless", marks=pytest.mark.slow)
    for name in ("codex", "claude-code")
]


@pytest.mark.parametrize(
    ("wall", "agent"), [*FAST, *IN_CONTAINERS, *WITHOUT_RIGHTS, *SLOWER], indirect=["wall"]
)
async def test_agent_finishes_a_task_through_the_door_and_never_sees_the_key(
    wall: Wall,
    agent: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    async with world(KEY, wall) as w:
        await asyncio.to_thread(provide_agent, w.server, agent)
        theirs = w.server.home.stat().st_uid
        if wall == "rootless":
            repository = handed_over(repository, w.server.home.parent / "own" / "project", theirs)
        in_containers = ["--profile", "small"] if isinstance(wall, DockerDaemon) else []
        sandbox = await sandbox_for(w, agent, repository, *in_containers)
        known = find(agent)
        env = CHOICES.get(agent, {})
        words = prompt(agent, "echo written by an agent > made.txt")
        code, said = await run(w, sandbox, *known.task_argv, words, env=env, timeout=120)
        assert code == 0, said.decode()
        code, text = await run(w, sandbox, "cat", "made.txt")
        assert (code, text) == (0, b"written by an agent\n")
        assert w.model.requests
        assert not w.model.rejected
        await assert_policy_is_read_only(w, sandbox, agent)
        await _assert_key_is_nowhere_inside(w, sandbox, agent)
        await asyncio.to_thread(_assert_key_is_kept_nowhere, w, sandbox)


def handed_over(repository: Path, to: Path, owner: int) -> Path:
    """The repository as a folder of this user's."""
    shutil.copytree(repository, to)
    for path in (to, *to.rglob("*")):
        os.chown(path, owner, owner)
    return to


async def assert_policy_is_read_only(w: World, sandbox: str, agent: str) -> None:
    """The agent's files below /etc are Atoll's, whatever runs inside."""
    for seed in find(agent).etc:
        code, text = await run(w, sandbox, "cat", f"/etc/{seed.path}")
        assert (code, text.decode()) == (0, seed.content)
        code, _ = await run(w, sandbox, "/bin/sh", "-c", f"echo x >> /etc/{seed.path}")
        assert code != 0


async def _assert_key_is_nowhere_inside(w: World, sandbox: str, agent: str) -> None:
    """With the agent's own TUI alive at a terminal: files, environments, memory."""
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/terminals", json={"agent": agent})
    assert opened.status_code == 201, opened.text
    path = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['terminal_id']}"
    recorded = await w.api.post(f"{path}/recording")
    assert recorded.is_success, recorded.text
    await _until_the_agent_draws(w, sandbox, opened.json()["terminal_id"])
    code, found = await run(w, sandbox, "/bin/sh", "-c", HUNT, "sh", KEY[3:])
    assert (code, found) == (0, b""), found.decode()
    told = (await w.api.get(f"/v1/sandboxes/{sandbox}")).json()
    uid = told["isolation"]["host_uid"]
    if os.geteuid() == 0 and uid != w.server.home.stat().st_uid:
        inside = pids_of(uid)
        assert inside
        assert not [pid for pid in inside if memory_holds(pid, KEY.encode())]


def _assert_key_is_kept_nowhere(w: World, sandbox: str) -> None:
    """Neither in the database, logs, journals and raw images of workspaces, nor in any answer."""
    home = w.server.home
    os.sync()
    assert files_with(home.parent, KEY.encode(), but=[home / "keys.toml"]) == []
    with api_of(w.server) as api:
        assert answers_with(api.client, KEY, sandbox=sandbox) == []
        kept = api.call("GET", f"/v1/sandboxes/{sandbox}/recordings")["recordings"]
        assert len(kept) == 1


async def _until_the_agent_draws(w: World, sandbox: str, terminal: str) -> None:
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            answer = await w.api.get(f"/v1/sandboxes/{sandbox}/terminals/{terminal}")
            told = answer.json()
            if told["offset"] > 400 or told["state"] == "exited":
                break
            await pauses.wait()
    assert told["state"] == "running", told


async def test_agent_with_a_key_the_provider_rejects_is_told_so(
    repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    async with world("sk-wrong-key-000000000000") as w:
        await asyncio.to_thread(provide_agent, w.server, "codex")
        sandbox = await sandbox_for(w, "codex", repository)
        known = find("codex")
        code, _said = await run(w, sandbox, *known.task_argv, "hello", timeout=120)
        assert code == 1
        assert w.model.rejected
