"""Real agents call Atoll's tools through the door: without a credential inside, and over the death
of the control plane."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from atoll.domain.agents.registry import find
from atoll.testing.model_server import model_server
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import (
    CHOICES,
    KEY,
    Wall,
    World,
    first_here,
    forgotten,
    keys_for,
    run,
    sandbox_for,
    world,
    world_at,
)
from tests.e2e.replicas.fleet import Fleet, fleet_on
from tests.peers.api import Pauses
from tests.peers.canary import HUNT, memory_holds, pids_of
from tests.peers.databases.postgres import PostgresServer
from tests.peers.docker_daemon import IMAGE, DockerDaemon, add_program, docker_daemon, why_not

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

NAMES = {
    "claude-code": "mcp__atoll__events_recent",
    "codex": "mcp__atoll__events_recent",
    "opencode": "atoll_events_recent",
    "qwen-code": "mcp__atoll__events_recent",
    "gemini-cli": "mcp_atoll_events.recent",
}
"""What the models of these agents call `events.recent`."""

AGENTS = tuple(NAMES)
WAYS = ("http", "stdio")
MODES = ("machine", "tui")
IN_DOCKER = [
    pytest.mark.docker,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]


def cases(walls: Iterable[str], modes: Iterable[str], quick: Callable[..., bool]) -> list[Any]:
    """Every agent in every way; all but the `quick` ones are slow."""
    found = []
    for wall, agent, mode, way in product(walls, AGENTS, modes, WAYS):
        marks = [*IN_DOCKER] if wall == "docker" else []
        if not quick(wall, agent, mode, way):
            marks += [pytest.mark.slow, pytest.mark.timeout(1200)]
        name = "-".join((agent, way, mode, wall))
        found.append(pytest.param(wall, agent, mode, way, id=name, marks=marks))
    return found


USUAL = (("claude-code", "tui", "stdio"), ("codex", "machine", "http"))
"""Of each agent that installs fast, mode, and way one."""


def in_every_run(wall: str, agent: str, mode: str, way: str) -> bool:
    return wall == "namespaces" and (agent, mode, way) in USUAL


ANSWERED = "untrusted text from event"
RESULTS = {
    "claude-code": '"tool_result"',
    "codex": '"function_call_output"',
    "opencode": '"function_call_output"',
    "qwen-code": '"role":"tool"',
    "gemini-cli": '"functionResponse"',
}
"""What each result of a tool has in a request to a model."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def contained_world() -> AsyncIterator[tuple[World, DockerDaemon]]:
    """A server whose sandboxes are containers, of an image in which agents of node run, too."""
    with docker_daemon() as daemon:
        await asyncio.to_thread(add_program, daemon, "node")
        async with world(KEY, daemon) as made:
            yield made, daemon


@pytest_asyncio.fixture(loop_scope="session")
async def contained(
    contained_world: tuple[World, DockerDaemon],
) -> AsyncIterator[tuple[World, DockerDaemon]]:
    """That server without a sandbox."""
    yield contained_world
    await forgotten(contained_world[0])


@pytest.fixture
def placed(request: pytest.FixtureRequest) -> tuple[World, Wall]:
    """The world whose wall the test asks for by its parameter, and that wall."""
    if request.param == "docker":
        found: tuple[World, Wall] = request.getfixturevalue("contained")
        return found
    return request.getfixturevalue("w"), None


HANDSHAKE = (
    {"jsonrpc": "2.0", "id": 1, "method": "initialize",
     "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "script", "version": "1"}}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "resources/subscribe",
     "params": {"uri": "atoll://sandbox/*"}},
)  # fmt: skip


@dataclass
class Scene:
    """An agent in a sandbox."""

    w: World
    sandbox: str
    agent: str
    id: str = ""

    @property
    def call(self) -> str:
        """What makes its model call the tool."""
        return f"[[tool {NAMES[self.agent]} {{}}]]"

    async def open(self, mode: str, words: str) -> None:
        body = {"agent": self.agent, "mode": mode, "prompt": words}
        path = f"/v1/sandboxes/{self.sandbox}/agents"
        opened = await self.w.api.post(path, json={**body, "env": CHOICES.get(self.agent, {})})
        assert opened.status_code == 201, opened.text
        self.id = opened.json()["id"]

    async def ask(self, words: str) -> None:
        """Ask it once its turn has ended."""
        path = f"/v1/sandboxes/{self.sandbox}/terminals/{self.id}/ask"
        async with asyncio.timeout(60):
            pauses = Pauses()
            while True:
                asked = await self.w.api.post(path, json={"prompt": words})
                if asked.status_code != 409:
                    break
                await pauses.wait()
        assert asked.status_code == 202, asked.text

    async def until_asked(self, holds: Callable[[str], bool]) -> None:
        """Wait until its model was sent such a request."""
        model = self.w.model
        async with asyncio.timeout(120):
            while not any(map(holds, model.bodies)):
                model.asked.clear()
                await model.asked.wait()

    async def called(self) -> list[tuple[str, str]]:
        """The calls of this sandbox and how they ended, as the log says."""
        query = {"stream": "tools", "limit": "500"}
        found = (await self.w.api.get("/v1/events", params=query)).json()["events"]
        return [
            (one["payload"]["tool"], one["payload"]["outcome"])
            for one in found
            if one["payload"].get("sandbox_id") == self.sandbox
        ]


async def sandbox_with_tools(w: World, agent: str, repository: Path, *more: str) -> Scene:
    """A sandbox for an agent. Nobody has asked for tools: the server has to have them by itself,
    before the agent asks its model."""
    return Scene(w, await sandbox_for(w, agent, repository, *more), agent)


async def scene_of(w: World, agent: str, repository: Path, way: str, wall: Wall) -> Scene:
    """A sandbox of a wall for an agent that is told of the tools in a way."""
    profile = {"id": f"profile.{way}", "version": "1.0.0", "mcp": {"transport": way}}
    if isinstance(wall, DockerDaemon):
        profile |= {"extension": "ext.docker", "image": IMAGE}
    put = await w.api.put(f"/v1/profiles/{profile['id']}", json=profile)
    assert put.is_success, put.text
    return await sandbox_with_tools(w, agent, repository, "--profile", way)


async def beginning_of_tokens(w: World) -> str:
    """What every token of a sandbox begins with. Ids of sessions, which agents have, do not."""
    made = await w.api.post("/auth/token", json={})
    assert made.status_code == 200, made.text
    header, payload, _ = made.json()["access_token"].split(".")
    return f"{header}.{payload[:12]}"


@pytest.mark.parametrize(
    ("placed", "agent", "mode", "way"),
    cases(("namespaces", "docker"), MODES, in_every_run),
    indirect=["placed"],
)
@pytest.mark.asyncio(loop_scope="session")
async def test_agent_lists_and_calls_a_tool_and_no_token_is_inside(
    placed: tuple[World, Wall],
    agent: str,
    mode: str,
    way: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    w, wall = placed
    await asyncio.to_thread(provide_agent, w.server, agent)
    scene = await scene_of(w, agent, repository, way, wall)
    # At a terminal some go on before they know their servers, so the first turn needs no tool.
    await scene.open(mode, "Good morning.")
    await scene.until_asked(lambda body: "Good morning." in body)
    await scene.ask(f"What happened? {scene.call}")
    await scene.until_asked(lambda body: ANSWERED in body)
    assert await scene.called() == [("events.recent", "ok")]
    await assert_no_token_inside(w, scene.sandbox)


async def assert_no_token_inside(w: World, sandbox: str) -> None:
    """Neither in files and environments nor in the memory of programs."""
    needle = await beginning_of_tokens(w)
    code, found = await run(w, sandbox, "/bin/sh", "-c", HUNT, "sh", needle[3:])
    assert (code, found) == (0, b""), found.decode()
    uid = (await w.api.get(f"/v1/sandboxes/{sandbox}")).json()["isolation"]["host_uid"]
    if os.geteuid() == 0 and uid != w.server.home.stat().st_uid:
        inside = pids_of(uid)
        assert inside and not [pid for pid in inside if memory_holds(pid, needle.encode())]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def mortal_world() -> AsyncIterator[World]:
    """A server of its own, which tests may kill."""
    async with world(KEY) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def mortal(mortal_world: World) -> AsyncIterator[World]:
    """That server without a sandbox, also after it was killed and began again."""
    yield mortal_world
    await forgotten(mortal_world)


async def two_calls(
    scene: Scene, mode: str, killed: TestServer, then: TestServer, *, amid_death: bool = False
) -> None:
    """Have its agent call twice, and the control plane `killed` in between, after which it is
    `then`: before the second call, or after it with `amid_death`."""
    w, second, gate = scene.w, RESULTS[scene.agent], scene.sandbox
    await scene.open(mode, "Good morning.")
    await scene.until_asked(lambda body: "Good morning." in body)
    await scene.ask(f"What happened? {scene.call}")
    await scene.until_asked(lambda body: ANSWERED in body)
    await scene.ask(f"And now? [[hold {gate}]] {scene.call}")
    await scene.until_asked(lambda body: f"[[hold {gate}]]" in body)
    await asyncio.to_thread(killed.kill)
    if amid_death:
        # The agent calls now, and nobody listens.
        w.model.gates[gate].set()
    if then is killed:
        await asyncio.to_thread(killed.start)
    w.api.base_url = then.url
    if not amid_death:
        await door_leads_on(scene)
        w.model.gates[gate].set()
    await scene.until_asked(lambda body: body.count(second) == 2)
    (last,) = [body for body in w.model.bodies if body.count(second) == 2]
    assert "upstream_unreachable" not in last and "not sent" not in last
    assert await scene.called() == [("events.recent", "ok")] * 2


async def door_leads_on(scene: Scene) -> None:
    """Wait until the door of its sandbox leads to the new control plane; each try waits itself."""
    async with asyncio.timeout(120):
        while (await run(scene.w, scene.sandbox, "atoll-mcp", "list"))[0] != 0:
            pass


@pytest.mark.alone
@first_here("claude-code", "codex")
@pytest.mark.asyncio(loop_scope="session")
async def test_call_while_the_control_plane_is_dead_is_answered_by_the_next(
    mortal: World,
    agent: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    await asyncio.to_thread(provide_agent, mortal.server, agent)
    scene = await scene_of(mortal, agent, repository, "http", None)
    await two_calls(scene, "machine", mortal.server, mortal.server, amid_death=True)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("wall", "agent", "mode", "way"), cases(("namespaces",), MODES, lambda *_: False)
)
@pytest.mark.asyncio(loop_scope="session")
async def test_call_after_the_control_plane_was_killed_is_answered(
    mortal: World,
    wall: str,
    agent: str,
    mode: str,
    way: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    await asyncio.to_thread(provide_agent, mortal.server, agent)
    scene = await scene_of(mortal, agent, repository, way, None)
    await two_calls(scene, mode, mortal.server, mortal.server)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def replicated_world(postgres: PostgresServer) -> AsyncIterator[tuple[World, Fleet]]:
    """A world of two replicas."""
    async with model_server(KEY) as model:
        context = fleet_on(postgres, keys=keys_for(model), further=("two",))
        fleet = await asyncio.to_thread(context.__enter__)
        try:
            async with world_at(fleet.servers[0], model) as made:
                yield made, fleet
        finally:
            await asyncio.to_thread(context.__exit__, None, None, None)


@pytest.mark.alone
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.asyncio(loop_scope="session")
async def test_call_after_a_replica_was_killed_is_answered_by_another(
    replicated_world: tuple[World, Fleet],
    agent: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    w, fleet = replicated_world
    await asyncio.to_thread(provide_agent, w.server, agent)
    scene = await scene_of(w, agent, repository, "http", None)
    leader = await asyncio.to_thread(fleet.leader)
    (other,) = fleet.others(leader)
    try:
        await two_calls(scene, "machine", leader, other)
    finally:
        # The next one needs both.
        await asyncio.to_thread(leader.start)
    await forgotten(w)


@pytest.mark.parametrize(
    "placed",
    ["namespaces", pytest.param("docker", marks=[*IN_DOCKER, pytest.mark.slow])],
    indirect=True,
)
@pytest.mark.asyncio(loop_scope="session")
async def test_script_calls_a_tool_by_its_name(
    placed: tuple[World, Wall], repository: Path
) -> None:
    w, wall = placed
    scene = await scene_of(w, "shell", repository, "stdio", wall)
    code, said = await run(w, scene.sandbox, "atoll-mcp", "call", "events.recent", "{}")
    assert code == 0 and ANSWERED.encode() in said, said
    assert json.loads(said.partition(b"\n")[0])["events"]
    code, said = await run(w, scene.sandbox, "atoll-mcp", "call", "events.recent", '{"limit":1}')
    assert code == 1 and said.startswith(b"atoll-mcp: invalid: "), said
    code, said = await run(w, scene.sandbox, "atoll-mcp", "call", "no.such")
    assert code == 1 and b"Unknown tool" in said
    lines = b"".join(json.dumps(one).encode() + b"\n" for one in HANDSHAKE)
    piped = f"printf '%s' '{lines.decode()}' | atoll-mcp"
    code, said = await run(w, scene.sandbox, "/bin/sh", "-c", piped)
    answers = [json.loads(line) for line in said.splitlines()]
    assert code == 0 and sorted(one["id"] for one in answers) == [1, 2, 3], said
    (listed, watched) = sorted(answers[1:], key=lambda one: int(one["id"]))
    assert "events.recent" in {tool["name"] for tool in listed["result"]["tools"]}
    # Only a session can watch.
    assert watched["result"] == {}
    await assert_no_token_inside(w, scene.sandbox)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.asyncio(loop_scope="session")
async def test_aider_calls_a_tool_by_a_command(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "aider")
    scene = await scene_of(w, "aider", repository, "stdio", None)
    words = "/run atoll-mcp call events.recent"
    argv, env = find("aider").task_argv, CHOICES["aider"]
    code, said = await run(w, scene.sandbox, *argv, words, env=env, timeout=300)
    assert code == 0 and ANSWERED.encode() in said, said
    assert await scene.called() == [("events.recent", "ok")]
    await assert_no_token_inside(w, scene.sandbox)
