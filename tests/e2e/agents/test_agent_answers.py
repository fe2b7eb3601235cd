"""Real agents at their terminals whose questions are answered elsewhere: by the command line."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, sandbox_for, until_asked
from tests.e2e.agents.test_agent_control import scene_with
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
        assert item["lines"][:2] == ["The agent asks", "Which database?"]
        await _answer(w, item["id"], "SQLite")
        await until_asked(w, '"Which database?"="SQLite"')
        await scene.early.until(lambda r: r.turns("done") == 1)
        late = await asyncio.to_thread(w.server.run, "inbox", "answer", item["id"], "Postgres")
        assert late.returncode != 0
        assert await _items(w) == []

        seen = len(scene.viewer.output)
        await scene.ask(f"Another one. [[tool {QUESTION}]]")
        item = await _waiting(w)
        await scene.viewer.until(lambda s: b"something" in s.output[seen:])
        assert await scene.viewer.type(b"2") is None
        await until_asked(w, '"Which database?"="Postgres"')
        await _gone(w, item["id"])


async def _gone(w: World, item: str) -> None:
    async with asyncio.timeout(5):
        pauses = Pauses()
        while item in [waiting["id"] for waiting in await _items(w)]:
            await pauses.wait()


async def _waiting(w: World) -> dict[str, Any]:
    """The agent's question, once it has options."""
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            items = await _items(w)
            if items and items[0]["options"]:
                return items[0]
            await pauses.wait()


async def _items(w: World) -> list[dict[str, Any]]:
    listed = await w.api.get("/v1/inbox")
    assert listed.status_code == 200, listed.text
    return [item for item in listed.json()["items"] if item["kind"] == "agent"]


async def _answer(w: World, item: str, answer: str) -> None:
    done = await asyncio.to_thread(w.server.run, "inbox", "answer", item, answer)
    assert done.returncode == 0, done.stderr
