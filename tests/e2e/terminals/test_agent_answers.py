"""Real agents at their terminals whose questions are answered elsewhere: by the command line."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run, sandbox_for, until_asked
from tests.e2e.agents.test_agent_control import Scene, reading, scene_with, viewing
from tests.peers.api import Pauses

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

QUESTION = (
    'AskUserQuestion {"questions":[{"question":"Which database?","header":"Database",'
    '"multiSelect":false,"options":[{"label":"SQLite","description":"One file"},'
    '{"label":"Postgres","description":"A server"}]}]}'
)


async def test_question_of_claude_at_its_terminal_is_answered_by_the_command_line(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    sandbox = await sandbox_for(w, "claude-code", repository)
    async with scene_with(w, "claude-code", sandbox) as scene:
        await scene.ask(f"Now a question. [[tool {QUESTION}]]")
        item = await _waiting(w)
        assert [option["label"] for option in item["options"]] == ["SQLite", "Postgres"]
        assert item["lines"][0] == "Which database?"
        await _answer(w, item["id"], "SQLite")
        await until_asked(w, '"Which database?"="SQLite"')
        await scene.early.until(lambda r: r.turns("done") == 1)
        late = await asyncio.to_thread(w.server.run, "inbox", "answer", item["id"], "Postgres")
        assert late.returncode != 0
        await _gone(w, item["id"])


async def test_question_of_an_agent_that_sleeps_is_answered_and_wakes_it(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    sandbox = await sandbox_for(w, "claude-code", repository)
    made = await w.api.post(
        f"/v1/sandboxes/{sandbox}/agents",
        json={"agent": "claude-code", "prompt": f"Now a question. [[tool {QUESTION}]]"},
    )
    assert made.is_success, made.text
    await _waiting(w)
    await asyncio.to_thread(w.server.run, "sleep", sandbox)
    (item,) = await _items(w)
    assert [option["label"] for option in item["options"]] == ["SQLite", "Postgres"]
    await _answer(w, item["id"], "SQLite")
    await until_asked(w, "The answer is: SQLite")
    await _gone(w, item["id"])


ASKS = 's/"never"/"on-request"/; s/danger-full-access/workspace-write/'
COMMAND = (
    'exec_command {"cmd":"echo %s > made.txt","sandbox_permissions":"require_escalated",'
    '"justification":"May I?"}'
)


async def test_question_of_codex_at_its_terminal_is_answered_by_the_command_line(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "codex")
    sandbox = await sandbox_for(w, "codex", repository)
    await run(w, sandbox, "/bin/sh", "-c", f"sed -i '{ASKS}' $HOME/.codex/config.toml")
    async with scene_with(w, "codex", sandbox) as scene:
        await scene.ask(f"Please write. [[tool {COMMAND % 'one'}]]")
        item = await _waiting(w)
        assert [option["id"] for option in item["options"]] == ["accept", "cancel"]
        assert item["lines"] == ["May I?", "echo one > made.txt"]
        await _answer(w, item["id"], "yes")
        await scene.early.until(lambda r: r.turns("done") == 1)
        assert (await run(w, sandbox, "cat", "made.txt"))[1] == b"one\n"
        await _gone(w, item["id"])

        await scene.ask(f"And again. [[tool {COMMAND % 'two'}]]")
        item = await _waiting(w)
        await scene.viewer.until(lambda s: s.shows("proceed"))
        assert await scene.viewer.type(b"y") is None
        await _gone(w, item["id"])
        await scene.early.until(lambda r: r.turns("done") == 2)


OPENCODE = {
    "model": "openai/gpt-5",
    "small_model": "openai/gpt-5",
    "permission": {"bash": "ask"},
}
OPENCODE_ASKS = (
    'question {"questions":[{"question":"Which database?","header":"Database","options":'
    '[{"label":"SQLite","description":"One file"},{"label":"Postgres","description":"x"}]}]}'
)


@pytest.mark.slow
async def test_questions_of_opencode_at_its_terminal_are_answered_by_the_command_line(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "opencode")
    env = f"--env=OPENCODE_CONFIG_CONTENT={json.dumps(OPENCODE)}"
    sandbox = await sandbox_for(w, "opencode", repository, env)
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json={"agent": "opencode"})
    assert opened.status_code == 201, opened.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{opened.json()['id']}"
    async with viewing(w, f"{here}/attach?client=me") as viewer, reading(w, f"{here}/cards") as r:
        scene = Scene(w, "opencode", sandbox, here, viewer, r)
        await viewer.until(lambda s: b"Ask anything" in s.output, 120)
        command = TOOLS["opencode"].format(command="echo one > made.txt")
        await scene.ask(f"Please write. [[tool {command}]]")
        item = await _waiting(w)
        assert [option["id"] for option in item["options"]] == ["once", "always", "reject"]
        assert item["lines"][:2] == ["Allow bash?", "echo one > made.txt"]
        await _answer(w, item["id"], "yes")
        await r.until(lambda one: one.turns("done") == 1)
        assert (await run(w, sandbox, "cat", "made.txt"))[1] == b"one\n"
        await scene.ask(f"Now a question. [[tool {OPENCODE_ASKS}]]")
        item = await _waiting(w)
        await _answer(w, item["id"], "Postgres")
        await until_asked(w, '"Which database?"="Postgres"')


TWO = QUESTION.removesuffix("]}") + (
    ',{"question":"Which editors?","header":"Editors","multiSelect":true,"options":'
    '[{"label":"vi","description":"v"},{"label":"ed","description":"e"}]}]}'
)
INPUT = (
    'request_user_input {"questions":[{"id":"db","header":"Db","question":"Which database?",'
    '"options":[{"label":"SQLite","description":"f"},{"label":"Postgres","description":"s"}]}]}'
)
ALLOWED = "s/^apps = false/apps = false\\ndefault_mode_request_user_input = true/"


@pytest.mark.slow
async def test_several_questions_of_claude_are_answered_one_by_one_in_words(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "claude-code")
    sandbox = await sandbox_for(w, "claude-code", repository)
    async with scene_with(w, "claude-code", sandbox) as scene:
        await scene.ask(f"Now two questions. [[tool {TWO}]]")
        item = await _waiting(w, "The agent asks (1 of 2)")
        await _answer(w, item["id"], "DuckDB, please")
        item = await _waiting(w, "The agent asks (2 of 2)")
        await _answer(w, item["id"], "vi, ed")
        await until_asked(w, '"Which database?"="DuckDB, please"')
        await until_asked(w, '"Which editors?"="vi, ed"')


@pytest.mark.slow
async def test_question_of_codex_is_answered_in_words(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, "codex")
    sandbox = await sandbox_for(w, "codex", repository)
    await run(w, sandbox, "/bin/sh", "-c", f"sed -i '{ALLOWED}' $HOME/.codex/config.toml")
    async with scene_with(w, "codex", sandbox) as scene:
        await scene.ask(f"Now a question. [[tool {INPUT}]]")
        item = await _waiting(w)
        assert [option["label"] for option in item["options"]] == ["SQLite", "Postgres"]
        await _answer(w, item["id"], "DuckDB")
        await until_asked(w, '{"answers":{"db":{"answers":["DuckDB"]}}}')
        await scene.early.until(lambda r: r.turns("done") == 1)


async def _gone(w: World, item: str) -> None:
    async with asyncio.timeout(5):
        pauses = Pauses()
        while item in [waiting["id"] for waiting in await _items(w)]:
            await pauses.wait()


async def _waiting(w: World, title: str = "") -> dict[str, Any]:
    """The agent's question, once it has options, and this title."""
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            items = await _items(w)
            if items and items[0]["options"] and items[0]["lines"][0].startswith(title):
                return items[0]
            await pauses.wait()


async def _items(w: World) -> list[dict[str, Any]]:
    listed = await w.api.get("/v1/inbox")
    assert listed.status_code == 200, listed.text
    return [item for item in listed.json()["items"] if item["kind"] == "agent"]


async def _answer(w: World, item: str, answer: str) -> None:
    done = await asyncio.to_thread(w.server.run, "inbox", "answer", item, answer)
    assert done.returncode == 0, done.stderr
