"""Real workers, driven by the Python client as docs/program/workers.md shows it."""

import asyncio
import json
import textwrap
from collections.abc import Callable
from typing import Any, cast

import pytest

from atoll.client import Atoll
from atoll.testing.model_server import DONE
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, first_here
from tests.e2e.agents.workers.test_worker_threads import ASKING
from tests.e2e.agents.workers.test_workers import ASKS
from tests.places import ROOT

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

PAGE = (ROOT / "docs/program/workers.md").read_text()


async def test_python_of_the_page_asks_answers_follows_and_stops(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    code = PAGE.partition("## In Python\n\n```python\n")[2].partition("```")[0]
    names: dict[str, Any] = {}
    program = code.replace("Write hello.txt", f"[[tool {ASKS}]]".replace('"', '\\"')).replace(
        "Atoll()", f"Atoll({w.server.url!r}, {w.server.token!r})"
    )
    body = textwrap.indent(program, "    ")
    exec(compile(f"async def main():\n{body}\n    return locals()\n", "workers.md", "exec"), names)
    left = await names["main"]()
    async with Atoll(w.server.url, w.server.token) as client:
        found = await client.workers.get("docs")
        assert found.status in ("stopping", "stopped")
        assert "docs" in [one.worker_id async for one in client.workers.list(limit=1)]
        events = []
        async for event in client.workers.follow("docs"):
            events.append(event)
            if event.event_type == "worker.stopped":
                break
    assert [one.seq for one in events] == list(range(1, len(events) + 1))
    said = [(one.method, cast("dict[str, Any]", one.params)) for one in events if one.method]
    (ended,) = [params for method, params in said if method == "turn/completed"]
    assert (ended["threadId"], ended["turn"]["id"]) == left["turn"]
    done = [params["item"] for method, params in said if method == "item/completed"]
    assert [one["exitCode"] for one in done if one["type"] == "commandExecution"] == [0]


@first_here("codex", "claude-code")
async def test_command_line_creates_asks_answers_follows_and_stops(
    w: World, provide_agent: Callable[[TestServer, str], None], agent: str
) -> None:
    provide_agent(w.server, agent)
    name = f"cli-{agent}"

    async def atoll(*words: str) -> str:
        done = await asyncio.to_thread(w.server.run, "worker", *words)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    created = await atoll("create", name, "--agent", agent, "--ask-first", "--wait")
    assert f"{name} runs in sb_" in created
    turn = json.loads(await atoll("ask", name, f"[[tool {ASKING[agent]}]]", "--json"))
    asks = "item/commandExecution/requestApproval"
    lines = (await atoll("follow", name, "--until", asks)).splitlines()
    question = lines[-1].partition("  question ")[2].partition("  ")[0]
    assert await atoll("answer", name, question, "--decision", "accept")
    seen = await atoll("follow", name, "--after", str(len(lines)), "--until", "turn/completed")
    assert seen.splitlines()[0].startswith(f"{len(lines) + 1}  ")
    listed = json.loads(await atoll("request", name, "thread/list"))
    assert [one["id"] for one in listed["data"]] == [turn["thread_id"]]
    assert await atoll("ask", name, "Say it.", "--wait") == f"{DONE}\n"
    assert name in await atoll("list")
    assert "heartbeat:    fresh" in await atoll("show", name)
    await atoll("stop", name)
    await atoll("follow", name, "--until", "worker.stopped")
    assert "is stopped, its files are sandbox:sb_" in await atoll("stop", name)


async def test_command_line_tries_a_worker_and_leaves_nothing(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    said = await asyncio.to_thread(w.server.run, "worker", "check", "--backend", "namespaces")
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert [one.partition(":")[0] for one in lines] == ["isolation", "request", "stream", "stop"]
    assert "bubblewrap" in lines[0] and "nothing is left" in lines[-1]
    assert (await w.api.get("/v1/sandboxes")).json()["sandboxes"] == []
    nowhere = await asyncio.to_thread(w.server.run, "worker", "check", "--backend", "nowhere")
    assert nowhere.returncode != 0 and "Traceback" not in nowhere.stderr
