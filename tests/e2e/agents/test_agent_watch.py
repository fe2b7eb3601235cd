"""Real agents without hooks of Claude's at a terminal: their turns, their cards, their names."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, TOOLS, World, sandbox_for
from tests.e2e.agents.test_agent_control import Scene, reading, viewing
from tests.e2e.agents.test_agent_resumption import restarted

pytestmark = [
    pytest.mark.agents,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="session"),
]

DRAWN = {"opencode": b"Ask anything", "qwen-code": b"Type your", "gemini-cli": b"Type your"}
COMMAND = "echo by hand > made.txt"


@pytest.mark.parametrize("agent", [*DRAWN])
async def test_agent_at_a_terminal_is_locked_in_its_turn_and_carded(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    env = [f"--env={name}={value}" for name, value in CHOICES[agent].items()]
    sandbox = await sandbox_for(w, agent, repository, *env)
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": agent})
    assert opened.status_code == 201, opened.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['id']}"
    async with viewing(w, f"{here}/attach?client=me") as viewer, reading(w, f"{here}/cards") as r:
        scene = Scene(w, agent, sandbox, here, viewer, r)
        await viewer.until(lambda s: DRAWN[agent] in s.output, 120)
        await scene.ask(f"Please write. [[tool {TOOLS[agent].format(command=COMMAND)}]]")
        await viewer.until(lambda s: ("running", "working") in states(s), 60)
        await r.until(lambda one: one.turns("done") == 1)
        await viewer.until(lambda s: s.state == ("running", "waiting"))
        # The transcript is read beside the hooks: its last words may come after the turn's end.
        await r.until(lambda one: kinds_of(one.ordered) == ["turn", "text", "bash", "text"])
        bash = next(card for card in r.ordered if card["kind"] == "bash")
        assert (bash["state"], bash["data"]["command"]) == ("done", COMMAND)
        assert "All done" in r.ordered[-1]["text"]
        assert r.turns("done") == 1
    (again,) = await restarted(w, sandbox)
    assert again["agent"] == agent
    log = await asyncio.to_thread(w.server.run, "logs", sandbox)
    assert "goes on in its conversation" in log.stdout


def kinds_of(cards: list[dict[str, Any]]) -> list[str]:
    return [str(card["kind"]) for card in cards if card["kind"] != "status"]


def states(viewer: object) -> list[tuple[str, str]]:
    told = [one for one in viewer.told if one["type"] == "agent_state"]  # type: ignore[attr-defined]
    return [(one["agent_state"], one["turn"]) for one in told]
