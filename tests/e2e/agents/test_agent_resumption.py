"""Real agents over a stop and a start of their sandbox: each goes on in its conversation."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, World, sandbox_for
from tests.e2e.agents.test_agent_control import Scene, reading, viewing
from tests.peers.api import Api, api_of, until

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

WORD, OTHER = "pelican", "flamingo"


async def atoll(w: World, *words: str) -> str:
    done = await asyncio.to_thread(w.server.run, *words)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


async def restarted(w: World, sandbox: str, *words: str) -> list[dict[str, Any]]:
    """The agents that run after a stop and a start."""
    await atoll(w, "stop", sandbox)
    await atoll(w, "start", sandbox, *words)
    return await agents(w, sandbox)


async def agents(w: World, sandbox: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = (await w.api.get(f"/v1/sandboxes/{sandbox}/agents")).json()[
        "agents"
    ]
    return [one for one in listed if one["agent_state"] == "running"]


async def talked_with(w: World, sandbox: str, agent_id: str, words: str, *, turns: int) -> None:
    """Ask, and wait until so many turns are done in its cards."""
    here = f"/v1/sandboxes/{sandbox}/terminals/{agent_id}"
    agent = (await agents(w, sandbox))[0]["agent"]
    async with (
        viewing(w, f"{here}/attach?client=me") as viewer,
        reading(w, f"{here}/cards") as cards,
    ):
        scene = Scene(w, agent, sandbox, here, viewer, cards)
        drawn = {"codex": b"Ask Codex", "claude-code": b"permissions"}[agent]
        await viewer.until(lambda s: drawn in s.output)
        await scene.ask(words)
        await cards.until(lambda r: r.turns("done") >= turns)


async def opened(w: World, sandbox: str, agent: str) -> str:
    made = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": agent})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])


@pytest.mark.parametrize("agent", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])
async def test_agent_goes_on_in_its_conversation_after_a_sleep_and_after_a_stop(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    first = await opened(w, sandbox, agent)
    await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=1)
    await _sleeps_and_goes_on_when_it_is_asked(w, sandbox, first)
    # Another conversation, which is the last one there is, and has ended.
    second = await opened(w, sandbox, agent)
    await talked_with(w, sandbox, second, f"Remember the word {OTHER}.", turns=1)
    here = f"/v1/sandboxes/{sandbox}/terminals/{second}"
    assert (await w.api.post(f"{here}/agent", json={"action": "stop"})).is_success

    running = await restarted(w, sandbox)
    assert [one["agent"] for one in running] == [agent]
    assert running[0]["id"] != first
    assert "goes on in its conversation" in await atoll(w, "logs", sandbox)
    w.model.bodies.clear()
    await talked_with(w, sandbox, running[0]["id"], "Which word was that?", turns=3)
    assert any(WORD in body and "Which word was that" in body for body in w.model.bodies)
    assert not any(OTHER in body for body in w.model.bodies)

    running = await restarted(w, sandbox)
    assert len(running) == 1
    assert await restarted(w, sandbox, "--no-resume-agent") == []
    assert await restarted(w, sandbox) == []


async def _sleeps_and_goes_on_when_it_is_asked(w: World, sandbox: str, first: str) -> None:
    assert "asleep" in await atoll(w, "sleep", sandbox)
    w.model.bodies.clear()
    here = f"/v1/sandboxes/{sandbox}/terminals/{first}"
    asked = await w.api.post(f"{here}/ask", json={"prompt": "Which word was it?"})
    assert asked.is_success, asked.text
    assert [one["id"] for one in await agents(w, sandbox)] == [first]
    async with (
        viewing(w, f"{here}/attach?client=me") as viewer,
        reading(w, f"{here}/cards") as cards,
    ):
        await viewer.until(lambda s: b"This sandbox slept for" in s.output)
        # What it showed before it slept stands above.
        assert WORD.encode() in viewer.output.split(b"This sandbox slept for")[0]
        await cards.until(lambda r: r.turns("done") >= 2)
    await asyncio.to_thread(
        until,
        lambda: list(w.model.bodies),
        lambda told: any(WORD in body and "Which word" in body for body in told),
    )


@pytest.mark.slow
async def test_agent_goes_on_after_its_sandbox_was_lost(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    sandbox = await sandbox_for(w, "claude-code", repository)
    first = await opened(w, sandbox, "claude-code")
    await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=1)
    await asyncio.to_thread(_lose, w, sandbox)
    await atoll(w, "start", sandbox)
    assert "goes on in its conversation" in await atoll(w, "logs", sandbox)
    assert [one["agent"] for one in await agents(w, sandbox)] == ["claude-code"]


def _kinds(api: Api, sandbox: str) -> set[str]:
    return {one["event_type"] for one in api.events(sandbox)}


def _lose(w: World, sandbox: str) -> None:
    """Kill its runtime, once it is written down which conversation the agent has."""
    with api_of(w.server) as api:
        until(lambda: _kinds(api, sandbox), lambda told: "agent.conversation" in told)
        os.kill(api.box(sandbox).runtime_pid, signal.SIGKILL)
        api.until(sandbox, lambda told: told["state"] == "failed", seconds=20)


MACHINES = ["claude-code", "codex", "opencode", "qwen-code", "gemini-cli"]


@pytest.mark.slow
@pytest.mark.parametrize("agent", MACHINES)
async def test_machines_go_on_after_a_stop_and_start_each_in_its_own_conversation(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    chosen = [f"--env={name}={value}" for name, value in CHOICES.get(agent, {}).items()]
    sandbox = await sandbox_for(w, agent, repository, *chosen)
    for word in (WORD, OTHER):
        body = {"agent": agent, "mode": "machine", "prompt": f"Remember the word {word}."}
        made = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
        assert made.status_code == 201, made.text
        await done_turns(w, sandbox, made.json()["id"])
    if agent == "gemini-cli":
        await another_minute()
    told = json.loads(await atoll(w, "stop", sandbox, "--json"))
    assert told["sandboxes"][0]["state"] == "stopped"
    assert f"{agent} with it" in await atoll(w, "start", sandbox)
    running = await agents(w, sandbox)
    assert [one["mode"] for one in running] == ["machine", "machine"]
    for one, word, other in zip(running, (WORD, OTHER), (OTHER, WORD), strict=True):
        w.model.bodies.clear()
        here = f"/v1/sandboxes/{sandbox}/terminals/{one['id']}"
        asked = await w.api.post(f"{here}/ask", json={"prompt": "Which word was it?"})
        assert asked.status_code == 202, asked.text
        await done_turns(w, sandbox, one["id"])
        bodies = [body for body in w.model.bodies if "Which word" in body]
        assert any(word in body for body in bodies)
        assert not any(other in body for body in bodies)


async def another_minute() -> None:
    """Gemini CLI spoils a conversation that is taken up in the UTC minute it was begun in
    (github.com/google-gemini/gemini-cli, issue 28693)."""
    await asyncio.sleep(60 - time.time() % 60)  # the agent looks at the machine's clock


async def done_turns(w: World, sandbox: str, agent_id: str) -> None:
    """Wait until it has done a turn."""
    async with reading(w, f"/v1/sandboxes/{sandbox}/terminals/{agent_id}/cards") as cards:
        await cards.until(lambda r: r.turns("done") >= 1)
