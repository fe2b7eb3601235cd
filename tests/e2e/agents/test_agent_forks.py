"""Real agents in forks of their sandbox: each copy goes on in the conversation, by itself."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, run, sandbox_for, until_asked
from tests.e2e.agents.test_agent_resumption import (
    WORD,
    agents,
    atoll,
    done_turns,
    opened,
    talked_with,
)
from tests.peers.api import api_of, until

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

PROMPT = "Which word was it? Answer in this copy."


async def forked(w: World, sandbox: str, **body: Any) -> list[str]:
    """Fork a sandbox, and return the copies once they are ready."""
    answer = await w.api.post(f"/v1/sandboxes/{sandbox}/fork", json=body)
    assert answer.status_code == 202, answer.text
    copies = [str(one["sandbox_id"]) for one in answer.json()["sandboxes"]]
    for copy in copies:
        told = (await w.api.get(f"/v1/sandboxes/{copy}?wait=ready&timeout=120")).json()
        assert told["state"] in ("ready", "active"), told
    return copies


async def conversation_of(w: World, sandbox: str) -> str:
    """Return the conversation that the agent of a sandbox named last."""
    named = await asyncio.to_thread(_await_named, w, sandbox)
    return str(named[-1]["payload"]["conversation"])


def _await_named(w: World, sandbox: str) -> list[dict[str, Any]]:
    with api_of(w.server) as api:
        return until(
            lambda: [
                one for one in api.events(sandbox) if one["event_type"] == "agent.conversation"
            ],
            bool,
        )


async def branch_of(w: World, sandbox: str) -> str:
    _, said = await run(w, sandbox, "git", "branch", "--show-current")
    return said.decode().strip()


@pytest.mark.parametrize("agent", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])
async def test_copies_go_on_from_the_same_turn_begin_anew_or_are_without_an_agent(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    first = await opened(w, sandbox, agent)
    await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=1)
    await _copies_go_on_on_branches_of_their_own(w, sandbox, agent)
    await _copy_that_was_told_nothing_sleeps_and_goes_on(w, sandbox)
    w.model.bodies.clear()
    anew = f"Begin anew. {PROMPT}"
    (fresh,) = await forked(w, sandbox, conversation="fresh", prompt=anew)
    await until_asked(w, anew)
    assert not any(WORD in body for body in w.model.bodies if anew in body)
    assert len(await agents(w, fresh)) == 1
    (none,) = await forked(w, sandbox, conversation="none")
    assert await agents(w, none) == []
    refused = await w.api.post(
        f"/v1/sandboxes/{sandbox}/fork", json={"conversation": "none", "prompt": PROMPT}
    )
    assert (refused.status_code, refused.json()["field"]) == (422, "conversation")
    # Where they came from it heard nothing of that.
    w.model.bodies.clear()
    await talked_with(w, sandbox, first, "And now?", turns=2)
    assert not any("in this copy" in body for body in w.model.bodies)


async def _copies_go_on_on_branches_of_their_own(w: World, sandbox: str, agent: str) -> None:
    origin = await conversation_of(w, sandbox)
    w.model.bodies.clear()
    copies = await forked(w, sandbox, count=2, branch="try", prompt=PROMPT)
    # Each asks the model by itself, with all that was said before.
    async with asyncio.timeout(90):
        while sum(_goes_on(body) for body in list(w.model.bodies)) < len(copies):
            await w.model.asked.wait()
            w.model.asked.clear()
    assert [await branch_of(w, copy) for copy in copies] == ["try-1", "try-2"]
    # Each has the conversation under an id of its own.
    talks = [await conversation_of(w, each) for each in copies]
    assert len({*talks, origin}) == len(copies) + 1
    for copy in copies:
        assert [one["agent"] for one in await agents(w, copy)] == [agent]
        task = (await w.api.get(f"/v1/sandboxes/{copy}")).json()["task"]
        assert (task["state"], task["prompt"]) == ("given", PROMPT)
        assert task["group"]
    # One that slept goes on in its own.
    copy = copies[0]
    (before,) = await agents(w, copy)
    assert "asleep" in await atoll(w, "sleep", copy)
    w.model.bodies.clear()
    here = f"/v1/sandboxes/{copy}/terminals/{before['id']}"
    asked = await w.api.post(f"{here}/ask", json={"prompt": "And now?"})
    assert asked.is_success, asked.text
    assert f"in its conversation {talks[0]}" in await atoll(w, "logs", copy)
    await until_asked(w, PROMPT, "And now?")
    assert any(WORD in body and "And now?" in body for body in w.model.bodies)


async def _copy_that_was_told_nothing_sleeps_and_goes_on(w: World, sandbox: str) -> None:
    (copy,) = await forked(w, sandbox)
    (going,) = await agents(w, copy)
    assert "asleep" in await atoll(w, "sleep", copy)
    w.model.bodies.clear()
    here = f"/v1/sandboxes/{copy}/terminals/{going['id']}"
    asked = await w.api.post(f"{here}/ask", json={"prompt": f"Awake again. {PROMPT}"})
    assert asked.is_success, asked.text
    await until_asked(w, WORD, f"Awake again. {PROMPT}")


async def test_ended_turn_is_kept_with_what_was_said_in_it(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    profile = {
        "id": "profile.turns",
        "version": "1.0.0",
        "extension": "ext.namespaces",
        "checkpoint": {"on": ["turn"], "keep": 3},
    }
    saved = await w.api.put("/v1/profiles/turns", json=profile)
    assert saved.is_success, saved.text
    sandbox = await sandbox_for(w, "claude-code", repository, "--profile", "turns")
    first = await opened(w, sandbox, "claude-code")
    # One that a busy disk did not keep in time waits for the next turn.
    for turn in range(1, 6):
        await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=turn)
        if await asyncio.to_thread(_was_kept, w, sandbox, turn):
            break
    listed = await w.api.get(f"/v1/snapshots?sandbox={sandbox}")
    (taken,) = listed.json()["snapshots"]
    assert taken["automatic"]
    body = {"seed": {"snapshot": taken["snapshot_id"]}, "prompt": PROMPT}
    w.model.bodies.clear()
    made = await w.api.post("/v1/sandboxes?wait=ready&timeout=120", json=body)
    assert made.status_code == 201, made.text
    await until_asked(w, WORD, PROMPT)


def _was_kept(w: World, sandbox: str, turns: int) -> bool:
    """Whether the last of so many turns was kept: each was, or was not in time."""
    ends = {"snapshot.taken": True, "snapshot.failed": False}
    with api_of(w.server) as api:
        told = until(
            lambda: [
                ends[one["event_type"]] for one in api.events(sandbox) if one["event_type"] in ends
            ],
            lambda told: len(told) >= turns,
        )
    return told[-1]


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
async def test_machine_of_a_copy_goes_on_under_an_id_of_its_own(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    body = {"agent": agent, "mode": "machine", "prompt": f"Remember the word {WORD}."}
    made = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
    assert made.status_code == 201, made.text
    await done_turns(w, sandbox, made.json()["id"])
    origin = await conversation_of(w, sandbox)
    w.model.bodies.clear()
    copies = await forked(w, sandbox, count=2, prompt=PROMPT)
    for copy in copies:
        (going,) = await agents(w, copy)
        assert going["mode"] == "machine"
        await done_turns(w, copy, going["id"])
    assert sum(_goes_on(body) for body in w.model.bodies) >= len(copies)
    assert len({*[await conversation_of(w, copy) for copy in copies], origin}) == 3


def _goes_on(body: str) -> bool:
    text = json.dumps(json.loads(body))
    return WORD in text and PROMPT in text
