"""A task: a real agent is at work on it when `atoll new` returns, with its instructions first.

And work on a dashboard: several agents in one sandbox, which was made for none of them.

Codex and Claude Code run in the tier `agents`, the others in its slow part.
"""

import asyncio
import base64
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.testing.model_server import REFUSAL
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import CHOICES, TOOLS, World, run, sandbox_for, until_asked
from tests.e2e.agents.test_agent_control import reading, viewing
from tests.peers.api import Pauses

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
]

TASK = """Mend the heron's "nest" on `main`; $HOME stays, so does 100 %.

- the \\ second line \x1b[31mwas red\x1b[0m
- the third: größer"""
SHOWN = """Mend the heron's "nest" on `main`; $HOME stays, so does 100 %.

- the \\ second line was red
- the third: größer"""
FAST = ("codex", "claude-code")
HOOKED = [name for name in CHOICES if name != "aider"]
AGENTS = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in CHOICES)]
REPORTING = [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in HOOKED)]


@pytest.mark.parametrize("agent", AGENTS)
async def test_agent_is_at_work_on_its_task_when_the_command_returns(
    w: World,
    agent: str,
    repository: Path,
    tmp_path: Path,
    provide_agent: Callable[[TestServer, str], None],
) -> None:
    (tmp_path / "start.md").write_text("Greet it first.")
    await asyncio.to_thread(provide_agent, w.server, agent)
    words = [f"--env={name}={value}" for name, value in CHOICES.get(agent, {}).items()]
    words += ["--instructions", str(tmp_path / "start.md"), "--prompt", "-"]
    told = await w.api.put("/v1/me/shade", json={"shade": "light"})
    assert told.status_code == 204, told.text
    sandbox = await sandbox_for(w, agent, repository, *words, said=TASK)
    made = (await w.api.get(f"/v1/sandboxes/{sandbox}")).json()
    assert (made["task"]["state"], made["repos"][0]["branch"]) == (
        "given",
        "mend-herons-nest-main-home-stays-does",
    )
    await until_asked(w, "Greet it first.", SHOWN)
    (working,) = (await w.api.get(f"/v1/sandboxes/{sandbox}/agents")).json()["agents"]
    assert (working["agent"], working["agent_state"]) == (agent, "running")
    if agent in FAST:
        path = f"/v1/sandboxes/{sandbox}/terminals/{working['id']}/attach?read_only=true&since=0"
        async with viewing(w, path) as looker:
            # Nobody had looked yet, and its owner's page is light. Claude Code draws once before it
            # has the answer.
            await looker.until(lambda seen: sum(_painted(seen.output)) > 3 * 160)


def _painted(output: bytearray) -> tuple[int, ...]:
    """Return the grey background that a program painted last, red, green and blue: those behind
    words are grey. Claude Code's mark is of orange and black in every theme."""
    painted = re.findall(rb"48[;:]2[;:]+(\d+)[;:](\d+)[;:](\d+)", output)
    grounds = [tuple(map(int, one)) for one in painted]
    greys = [one for one in grounds if max(one) > 0 and max(one) - min(one) < 40]
    return greys[-1] if greys else ()


@pytest.mark.parametrize("agent", REPORTING)
async def test_turn_that_the_provider_refuses_has_failed_with_its_words_and_locks_nothing(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, w.server, agent)
    words = [f"--env={name}={value}" for name, value in CHOICES.get(agent, {}).items()]
    sandbox = await sandbox_for(w, agent, repository, *words, "--prompt", "Fix it [[fail]]")
    async with asyncio.timeout(120):
        pauses = Pauses()
        while True:
            (one,) = (await w.api.get(f"/v1/sandboxes/{sandbox}/agents")).json()["agents"]
            status = one["status"]
            # The words may come a moment later: the agent writes them down.
            if (status["status"], one["turn"]) == ("failed", "waiting") and REFUSAL in status[
                "reason"
            ]:
                break
            await pauses.wait()


async def test_dashboard_starts_two_agents_in_one_sandbox_and_both_work(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    for agent in FAST:
        await asyncio.to_thread(provide_agent, w.server, agent)
    board = (await w.api.post("/v1/dashboards", json={"name": "both"})).json()["id"]
    path = f"/v1/dashboards/{board}/terminals"
    for nobody in ("nobody", "aider"):
        refused = await w.api.post(path, json={"agent": nobody})
        assert (refused.status_code, refused.json()["field"]) == (422, "agent")
    assert (await w.api.get(f"/v1/dashboards/{board}")).json()["sandbox_id"] is None
    started = {agent: await w.api.post(path, json={"agent": agent}) for agent in FAST}
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
    assert {one.partition("@")[0] for one in inside} == set(FAST)
    assert ", ".join(one.replace("@", " ") for one in sorted(inside)) in shown.stdout
    other = await w.api.post(f"{home}/agents", json={"agent": "codex@0.0.1"})
    assert (other.status_code, other.json()["code"]) == (409, "agent_version")


async def until_both_are_done(w: World, home: str) -> None:
    """Wait until each agent has had one turn, by its own report."""
    async with asyncio.timeout(120):
        pauses = Pauses()
        while True:
            agents = (await w.api.get(f"{home}/agents")).json()["agents"]
            done = [one["agent"] for one in agents if one["status"]["status"] == "done"]
            if sorted(done) == sorted(FAST):
                break
            await pauses.wait()


PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGPYbWyMFTEMLQkAXWxIQVQg"
    "pWgAAAAASUVORK5CYII="
)
READS = {"codex": 'view_image {"path":"%s"}', "claude-code": 'Read {"file_path":"%s"}'}


@pytest.mark.parametrize("agent", FAST)
async def test_agent_that_is_asked_with_the_path_of_a_picture_shows_it_to_its_model(
    w: World, agent: str, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    """So the page sends that of an element which its person picked in a preview."""
    await asyncio.to_thread(provide_agent, w.server, agent)
    sandbox = await sandbox_for(w, agent, repository)
    path = ".atoll-uploads/261203-element.png"
    at = {"path": path, "parents": "true"}
    files = f"/v1/sandboxes/{sandbox}/files/content"
    put = await w.api.put(files, params=at, content=PICTURE)
    assert put.is_success, put.text
    reads = READS[agent] % f"/workspace/{path}"
    prompt = f"Make it green. [[tool {reads}]]\n\nA picture of it: /workspace/{path}"
    body = {"agent": agent, "mode": "machine", "prompt": prompt}
    made = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
    assert made.status_code == 201, made.text
    here = f"/v1/sandboxes/{sandbox}/terminals/{made.json()['id']}"
    async with reading(w, f"{here}/cards") as cards:
        await cards.until(lambda r: r.turns("done") == 1)
    assert any(_shows_a_picture(body) for body in w.model.bodies)


def _shows_a_picture(body: str) -> bool:
    """Whether a request of the model holds a PNG, as its vendor's interface has it."""
    of_codex = re.search(r'"image_url": ?"data:image/png;base64,iVBOR', body)
    of_claude = re.search(r'"media_type": ?"image/png"', body) and "iVBOR" in body
    return bool(of_codex or of_claude)
