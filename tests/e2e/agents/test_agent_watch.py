"""Real agents without hooks of Claude's at a terminal: their turns, cards, names and questions."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, TOOLS, World, run, sandbox_for, until_asked
from tests.e2e.agents.test_agent_control import Reader, Scene, reading, viewing
from tests.e2e.agents.test_agent_resumption import restarted

pytestmark = [
    pytest.mark.agents,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.asyncio(loop_scope="session"),
]

DRAWN = {"opencode": b"Ask anything", "qwen-code": b"Type your", "gemini-cli": b"Type your"}
COMMAND = "echo by hand > made.txt"
ASKED = '"question":"Which database should the notes use?","header":"Database"'
OFFERED = '[{"label":"SQLite","description":"One file"},{"label":"Postgres","description":"Big"}]'
QUESTIONS = {
    "qwen-code": (
        f'ask_user_question {{"questions":[{{{ASKED},"multiSelect":false,"options":{OFFERED}}}]}}'
    ),
    "gemini-cli": (
        f'ask_user {{"questions":[{{{ASKED},"type":"choice","multiSelect":false,'
        f'"options":{OFFERED}}}]}}'
    ),
}


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


@pytest.mark.parametrize("agent", [*QUESTIONS])
async def test_question_that_takes_keys_only_is_answered_from_elsewhere(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    env = [f"--env={name}={value}" for name, value in CHOICES[agent].items()]
    sandbox = await sandbox_for(w, agent, repository, *env)
    order = {"agent": agent, "permissions": "ask", "cols": 100, "rows": 40}
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=order)
    assert opened.status_code == 201, opened.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['id']}"
    async with viewing(w, f"{here}/attach?client=me") as viewer, reading(w, f"{here}/cards") as r:
        scene = Scene(w, agent, sandbox, here, viewer, r)
        await viewer.until(lambda s: DRAWN[agent] in s.output, 120)

        await scene.ask(f"Please write. [[tool {TOOLS[agent].format(command='touch made.txt')}]]")
        card = await posed(r, "approval")
        assert "touch made.txt" in card["text"]
        assert [option["effect"] for option in card["options"]][-1] == "deny"
        await answer(scene, card, option="1")
        await r.until(lambda one: one.turns("done") == 1)
        assert (await run(w, sandbox, "ls", "made.txt"))[0] == 0

        await scene.ask(f"Please ask. [[tool {QUESTIONS[agent]}]]")
        card = await posed(r, "question")
        assert "Which database should the notes use" in card["text"]
        assert [option["label"] for option in card["options"]] == ["SQLite", "Postgres"]
        await answer(scene, card, text="MariaDB,\nplease")
        await until_asked(w, "MariaDB, please")
        await r.until(lambda one: one.turns("done") == 2)

        await scene.ask(f"Again. [[tool {QUESTIONS[agent]}]]")
        card = await posed(r, "question")
        assert await viewer.type(b"2") is None
        await r.until(lambda one: not pending(one, "question"), 15)
        late = await w.api.post(f"{here}/cards/{card['id']}/answer", json={"option": "1"})
        assert (late.status_code, late.json()["code"]) == (409, "not_pending")


def pending(reader: Reader, kind: str) -> list[dict[str, Any]]:
    shown = [card for card in reader.ordered if card["kind"] == kind]
    return [card for card in shown if card["state"] == "pending" and card["data"]["answerable"]]


async def posed(reader: Reader, kind: str) -> dict[str, Any]:
    await reader.until(lambda one: bool(pending(one, kind)), 60)
    return pending(reader, kind)[0]


async def answer(scene: Scene, card: dict[str, Any], **given: str) -> None:
    path = f"{scene.here}/cards/{card['id']}/answer"
    done = await scene.w.api.post(path, json=given)
    assert done.status_code == 200, (done.text, bytes(scene.viewer.output[-3000:]))
