"""Several real agents in one sandbox: a dashboard's home, which was made for none of them."""

import asyncio
from collections.abc import Callable

import pytest

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

BOTH = ("codex", "claude-code")


async def test_dashboard_starts_two_agents_in_one_sandbox_and_both_work(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    for agent in BOTH:
        await asyncio.to_thread(provide_agent, w.server, agent)
    board = (await w.api.post("/v1/dashboards", json={"name": "both"})).json()["id"]
    path = f"/v1/dashboards/{board}/terminals"
    for nobody in ("nobody", "aider"):
        refused = await w.api.post(path, json={"agent": nobody})
        assert (refused.status_code, refused.json()["field"]) == (422, "agent")
    assert (await w.api.get(f"/v1/dashboards/{board}")).json()["sandbox_id"] is None
    started = {agent: await w.api.post(path, json={"agent": agent}) for agent in BOTH}
    assert [one.status_code for one in started.values()] == [201, 201]
    (sandbox,) = {one.json()["sandbox_id"] for one in started.values()}
    home = f"/v1/sandboxes/{sandbox}"
    for agent, opened in started.items():
        tool = TOOLS[agent].format(command=f"echo {agent} >> made-by-{agent}.txt")
        terminal = f"{home}/terminals/{opened.json()['terminal_id']}"
        asked = await w.api.post(f"{terminal}/ask", json={"prompt": f"Write. [[tool {tool}]]"})
        assert asked.is_success, asked.text
    await until_both_are_done(w, home)
    code, text = await run(w, sandbox, "/bin/sh", "-c", "cat made-by-*")
    assert (code, text) == (0, b"claude-code\ncodex\n")
    inside = (await w.api.get(home)).json()["agents_inside"]
    shown = await asyncio.to_thread(w.server.run, "info", sandbox)
    assert {one.partition("@")[0] for one in inside} == set(BOTH)
    assert ", ".join(one.replace("@", " ") for one in sorted(inside)) in shown.stdout
    other = await w.api.post(f"{home}/agents", json={"agent": "codex@0.0.1"})
    assert (other.status_code, other.json()["code"]) == (409, "agent_version")


async def until_both_are_done(w: World, home: str) -> None:
    """Wait until each agent has had one turn, by its own report."""
    async with asyncio.timeout(120):
        while True:
            agents = (await w.api.get(f"{home}/agents")).json()["agents"]
            done = [one["agent"] for one in agents if one["status"]["status"] == "done"]
            if sorted(done) == sorted(BOTH):
                break
            await asyncio.sleep(0.05)
