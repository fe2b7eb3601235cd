"""Real agents in forks of their sandbox: each copy goes on in the conversation, by itself."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, run, sandbox_for, until_asked
from tests.e2e.agents.test_agent_resumption import WORD, agents, opened, talked_with

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


async def branch_of(w: World, sandbox: str) -> str:
    _, said = await run(w, sandbox, "git", "branch", "--show-current")
    return said.decode().strip()


@pytest.mark.parametrize("agent", ["claude-code", pytest.param("codex", marks=pytest.mark.slow)])
async def test_copies_go_on_from_the_same_turn_on_branches_of_their_own(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    first = await opened(w, sandbox, agent)
    await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=1)
    w.model.bodies.clear()
    copies = await forked(w, sandbox, count=3, branch="try", prompt=PROMPT)
    # Each asks the model by itself, with all that was said before.
    async with asyncio.timeout(90):
        while sum(_goes_on(body) for body in list(w.model.bodies)) < len(copies):
            await w.model.asked.wait()
            w.model.asked.clear()
    assert [await branch_of(w, copy) for copy in copies] == ["try-1", "try-2", "try-3"]
    for copy in copies:
        assert [one["agent"] for one in await agents(w, copy)] == [agent]
        task = (await w.api.get(f"/v1/sandboxes/{copy}")).json()["task"]
        assert (task["state"], task["prompt"]) == ("given", PROMPT)
        assert task["group"]
    # Where it came from it heard nothing of that.
    w.model.bodies.clear()
    await talked_with(w, sandbox, first, "And now?", turns=2)
    assert not any("in this copy" in body for body in w.model.bodies)


async def test_agent_of_a_copy_begins_anew_or_is_left_out(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    sandbox = await sandbox_for(w, "claude-code", repository)
    first = await opened(w, sandbox, "claude-code")
    await talked_with(w, sandbox, first, f"Remember the word {WORD}.", turns=1)
    w.model.bodies.clear()
    (fresh,) = await forked(w, sandbox, conversation="fresh", prompt=PROMPT)
    await until_asked(w, PROMPT)
    assert not any(WORD in body for body in w.model.bodies if PROMPT in body)
    assert len(await agents(w, fresh)) == 1
    (none,) = await forked(w, sandbox, conversation="none")
    assert await agents(w, none) == []
    refused = await w.api.post(
        f"/v1/sandboxes/{sandbox}/fork", json={"conversation": "none", "prompt": PROMPT}
    )
    assert (refused.status_code, refused.json()["field"]) == (422, "conversation")


def _goes_on(body: str) -> bool:
    text = json.dumps(json.loads(body))
    return WORD in text and PROMPT in text
