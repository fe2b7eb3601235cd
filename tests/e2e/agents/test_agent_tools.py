"""Real agents call Atoll's tools through the door: without a credential inside, and over the death
of the control plane."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, KEY, World, run, sandbox_for, world
from tests.peers.canary import HUNT, memory_holds, pids_of

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]

NAMES = {
    "claude-code": "mcp__atoll__events_recent",
    "codex": "mcp__atoll__events_recent",
    "opencode": "atoll_events_recent",
    "qwen-code": "mcp__atoll__events_recent",
    "gemini-cli": "mcp_atoll_events.recent",
}
"""What the models of these agents call `events.recent`."""

FAST = [pytest.param(name, id=name) for name in ("claude-code", "codex")]
SLOWER = [
    pytest.param(name, id=name, marks=[pytest.mark.slow, pytest.mark.timeout(1200)])
    for name in ("opencode", "qwen-code", "gemini-cli")
]
ANSWERED = "untrusted text from event"
RESULTS = {"claude-code": '"tool_result"', "codex": '"function_call_output"'}
"""What each result of a tool has in a request to a model."""


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
            while True:
                asked = await self.w.api.post(path, json={"prompt": words})
                if asked.status_code != 409:
                    break
                await asyncio.sleep(0.1)
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


LIST = """curl -sf http://127.0.0.1:8082/mcp -H 'Content-Type: application/json' \\
  -H 'Accept: application/json, text/event-stream' \\
  -d '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'"""


async def sandbox_with_tools(w: World, agent: str, repository: Path, *more: str) -> Scene:
    """A sandbox for an agent. The server has loaded what tools need: an agent that waits for that
    at its start asks its model without them."""
    scene = Scene(w, await sandbox_for(w, agent, repository, *more), agent)
    code, listed = await run(w, scene.sandbox, "/bin/sh", "-c", LIST)
    assert code == 0 and b"events.recent" in listed
    return scene


async def beginning_of_tokens(w: World) -> str:
    """What every token of a sandbox begins with. Ids of sessions, which agents have, do not."""
    made = await w.api.post("/auth/token", json={})
    assert made.status_code == 200, made.text
    header, payload, _ = made.json()["access_token"].split(".")
    return f"{header}.{payload[:12]}"


@pytest.mark.parametrize("mode", ["machine", "tui"])
@pytest.mark.parametrize("agent", [*FAST, *SLOWER])
@pytest.mark.asyncio(loop_scope="session")
async def test_agent_lists_and_calls_a_tool_and_no_token_is_inside(
    w: World,
    agent: str,
    mode: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    scene = await sandbox_with_tools(w, agent, repository)
    # At a terminal some go on before they know their servers, so the first turn needs no tool.
    await scene.open(mode, "Good morning.")
    await scene.until_asked(lambda body: "Good morning." in body)
    await scene.ask(f"What happened? {scene.call}")
    await scene.until_asked(lambda body: ANSWERED in body)
    assert await scene.called() == [("events.recent", "ok")]
    needle = await beginning_of_tokens(w)
    code, found = await run(w, scene.sandbox, "/bin/sh", "-c", HUNT, "sh", needle[3:])
    assert (code, found) == (0, b""), found.decode()
    uid = (await w.api.get(f"/v1/sandboxes/{scene.sandbox}")).json()["isolation"]["host_uid"]
    if os.geteuid() == 0 and uid != w.server.home.stat().st_uid:
        inside = pids_of(uid)
        assert inside and not [pid for pid in inside if memory_holds(pid, needle.encode())]


@pytest.fixture
async def mortal() -> AsyncIterator[World]:
    """A server of its own, which a test may kill."""
    async with world(KEY) as made:
        yield made


@pytest.mark.alone
@pytest.mark.parametrize("agent", FAST)
async def test_call_while_the_control_plane_is_dead_is_answered_by_the_next(
    mortal: World,
    agent: str,
    repository: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    w = mortal
    await asyncio.to_thread(provide_agent, w.server, agent)
    scene = await sandbox_with_tools(w, agent, repository)
    await scene.open("machine", f"What happened? {scene.call}")
    await scene.until_asked(lambda body: ANSWERED in body)
    await scene.ask(f"And now? [[hold dead]] {scene.call}")
    await scene.until_asked(lambda body: "[[hold dead]]" in body)
    await asyncio.to_thread(w.server.kill)
    # The agent calls now, and nobody listens.
    w.model.gates["dead"].set()
    await asyncio.to_thread(w.server.start)
    await scene.until_asked(lambda body: body.count(RESULTS[agent]) == 2)
    (last,) = [body for body in w.model.bodies if body.count(RESULTS[agent]) == 2]
    assert "upstream_unreachable" not in last and "not sent" not in last
    w.api.base_url = w.server.url
    assert await scene.called() == [("events.recent", "ok")] * 2
