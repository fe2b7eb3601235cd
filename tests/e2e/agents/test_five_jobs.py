"""The jobs of a day, each from home with real agents: how many acts each takes, and how long."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import (
    KEY,
    World,
    first_here,
    forgotten,
    run,
    sandbox_for,
    until_asked,
    world,
)
from tests.e2e.page.test_real_page import LINK
from tests.peers.api import Pauses
from tests.peers.browsers import CALM, chromium, needs_chromium

pytestmark = [
    pytest.mark.agents,
    pytest.mark.browser,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("browsers"),
    needs_chromium,
]

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
QUESTION = (
    'AskUserQuestion {"questions":[{"question":"Which database?","header":"Database",'
    '"multiSelect":false,"options":[{"label":"SQLite","description":"One file"},'
    '{"label":"Postgres","description":"A server"}]}]}'
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def standing_jobs() -> AsyncIterator[World]:
    """A server of these tests alone: what a box proposes depends on what is installed."""
    async with world(KEY) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="session")
async def jobs(standing_jobs: World) -> AsyncIterator[World]:
    yield standing_jobs
    await forgotten(standing_jobs)


@dataclass
class Acts:
    """A person at a page, whose acts are counted: a press, a key, a field that is filled."""

    page: Page
    count: int = 0

    async def press(self, there: Locator) -> None:
        self.count += 1
        await there.click()

    async def fill(self, there: Locator, words: str) -> None:
        self.count += 1
        await there.fill(words)

    async def key(self, name: str) -> None:
        self.count += 1
        await self.page.keyboard.press(name)


@asynccontextmanager
async def at_home(w: World, **looks: Any) -> AsyncIterator[Acts]:
    """Somebody at the first page."""
    async with chromium() as browser:
        context = await browser.new_context(**{**CALM, **looks})
        page = await context.new_page()
        page.set_default_timeout(60_000)
        printed = await asyncio.to_thread(w.server.run, "login")
        await page.goto(LINK.findall(printed.stdout)[0])
        await expect(page.get_by_role("heading", name="What is to be done?")).to_be_visible()
        yield Acts(page)


async def known(jobs: World, repository: Path) -> None:
    """Have the server know the repository, as somebody who began there once before."""
    done = await asyncio.to_thread(
        jobs.server.run, "new", str(repository), "--detach", "--json", "--name", "before"
    )
    assert done.returncode == 0, done.stderr


async def sandboxes(w: World) -> list[Any]:
    listed: list[Any] = (await w.api.get("/v1/sandboxes")).json()["sandboxes"]
    return listed


async def until_work(w: World, name: str, state: str) -> float:
    """Wait until a sandbox's work has a state. Returns when it had."""
    async with asyncio.timeout(60):
        pauses = Pauses()
        while True:
            (one,) = [one for one in await sandboxes(w) if one["name"] == name]
            if one["work"] is not None and one["work"]["state"] == state:
                return time.monotonic()
            await pauses.wait()


def box_of(acts: Acts) -> Locator:
    return acts.page.get_by_role("textbox", name="What is to be done")


async def test_sentence_is_two_acts_from_its_agent_and_its_question_one_on_a_phone(
    jobs: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, jobs.server, "claude-code")
    await known(jobs, repository)
    async with at_home(jobs) as acts:
        await expect(acts.page.get_by_role("button", name="Start claude-code")).to_be_visible()
        begun = time.monotonic()
        await acts.fill(box_of(acts), f"Greet the heron [[hold it]] [[tool {QUESTION}]]")
        await acts.key("Control+Enter")
        await until_asked(jobs, "Greet the heron")
        (made,) = [one for one in await sandboxes(jobs) if one["name"] != "before"]
        await until_work(jobs, made["name"], "working")
        tell("sentence to agent", acts, begun)
        assert (made["agent"], acts.count) == ("claude-code", 2)
    async with at_home(jobs, **PHONE) as acts:
        jobs.model.gates["it"].set()
        choice = acts.page.get_by_role("button", name="SQLite", exact=True)
        await expect(choice).to_be_visible()
        begun = time.monotonic()
        await acts.press(choice)
        await until_asked(jobs, '"Which database?"="SQLite"')
        tell("question on a phone", acts, begun)
        assert acts.count == 1
        await until_work(jobs, made["name"], "to_review")


def tell(job: str, acts: Acts, begun: float) -> None:
    print(f"{job}: {acts.count} acts, {time.monotonic() - begun:.1f} s")


async def test_better_of_two_agents_is_kept_and_merged_in_six_acts(
    jobs: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    for agent in ("codex", "claude-code"):
        await asyncio.to_thread(provide_agent, jobs.server, agent)
    await known(jobs, repository)
    write = "echo heron > heron.txt && git add heron.txt && git commit -qm heron"
    tools = " ".join(
        f"[[tool {name} {json.dumps(given)}]]"
        for name, given in (
            ("exec_command", {"cmd": "true"}),
            ("Bash", {"command": write, "description": "Write"}),
        )
    )
    async with at_home(jobs) as acts:
        page = acts.page
        await expect(page.get_by_role("button", name="Start claude-code")).to_be_visible()
        begun = time.monotonic()
        await acts.fill(box_of(acts), f"Add a heron {tools}")
        await acts.press(page.get_by_role("checkbox", name="codex"))
        await acts.key("Control+Enter")
        columns = page.get_by_role("list", name="Agents").get_by_role("listitem")
        better = columns.filter(has=page.get_by_role("heading", name="claude-code"))
        await expect(better.get_by_text("heron.txt")).to_be_visible()
        await expect(better.get_by_text("To review").first).to_be_visible()
        await acts.press(better.get_by_role("button", name="Keep this one"))
        await acts.press(page.get_by_role("button", name="Destroy the other one"))
        merge = page.get_by_role("dialog").get_by_role("button", name="Merge", exact=True)
        await acts.press(merge)
        await expect(page.get_by_role("dialog")).to_contain_text("main is at")
        tell("two agents, the better one merged", acts, begun)
        assert acts.count <= 6


async def test_conflict_is_handed_to_the_agent_and_merged_in_five_acts(
    jobs: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, jobs.server, "codex")
    mine = "echo mine > README.md && git commit -qam mine"
    sandbox = await sandbox_for(
        jobs, "codex", repository, "--name", "heron", "--prompt", "-",
        said=f"Write it. [[tool exec_command {json.dumps({'cmd': mine})}]]",
    )  # fmt: skip
    await until_work(jobs, "heron", "to_review")
    theirs = "git checkout -q main && echo theirs > README.md && git commit -qam theirs"
    back = f"b=$(git branch --show-current) && {theirs} && git checkout -q $b && git rebase main"
    async with at_home(jobs) as acts:
        page = acts.page
        begun = time.monotonic()
        await run(jobs, sandbox, "/bin/sh", "-c", back)
        act = page.get_by_role("button", name="Let codex resolve it")
        await expect(act).to_be_visible()
        seen = time.monotonic() - begun
        print(f"conflict seen after {seen:.1f} s, git's own time included")
        await acts.press(act)
        await until_asked(jobs, "conflict")
        settle = (
            "echo both > README.md && git add README.md && GIT_EDITOR=true git rebase --continue"
        )
        # The scripted model decides nothing by itself: what it would do is done in its place.
        assert (await run(jobs, sandbox, "/bin/sh", "-c", settle))[0] == 0
        await expect(act).to_be_hidden()
        await acts.press(page.get_by_role("button", name="heron").first)
        await acts.press(page.get_by_role("button", name="More about this sandbox"))
        menu = page.get_by_role("dialog", name="More about this sandbox")
        await acts.press(menu.get_by_role("button", name="Merge…"))
        merge = page.get_by_role("dialog").get_by_role("button", name="Merge", exact=True)
        await acts.press(merge)
        await expect(page.get_by_role("dialog")).to_contain_text("main is at")
        tell("conflict resolved and merged", acts, begun)
        assert acts.count <= 5
        log = await run(jobs, sandbox, "git", "show", "main:README.md")
        assert log[1] == b"both\n"


@first_here("claude-code", "codex")
async def test_agent_of_a_canvas_works_in_a_sandbox_of_its_own_and_in_the_dashboards(
    jobs: World, repository: Path, agent: str, provide_agent: Callable[[TestServer, str], None]
) -> None:
    await asyncio.to_thread(provide_agent, jobs.server, agent)
    await known(jobs, repository)
    board = (await jobs.api.post("/v1/dashboards", json={"name": "Herons"})).json()["id"]
    async with at_home(jobs) as acts:
        page = acts.page
        await page.evaluate(f"location.hash = '#/dashboards/{board}'")
        await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        begun = time.monotonic()
        box = await new_agent(acts)
        # A server that has several proposes one of them.
        await expect(box.get_by_role("button", name="Start ")).to_be_visible()
        if not await box.get_by_label(agent).is_checked():
            await acts.press(box.get_by_role("checkbox", checked=True).first)
            await acts.press(box.get_by_label(agent))
        await acts.fill(box.get_by_label("What is to be done"), "Greet the heron [[hold it]]")
        await acts.key("Control+Enter")
        await until_asked(jobs, "Greet the heron")
        tell("agent on a canvas", acts, begun)
        assert acts.count <= 5
        panes = page.locator('[data-kind="agent"]')
        await expect(panes.locator(".xterm-screen")).to_have_count(1)

        # The first terminal makes the dashboard's own sandbox, and the agent is in it, too.
        await page.get_by_role("button", name="New terminal").click()
        await expect(page.locator('[data-kind="terminal"] .xterm-screen')).to_be_visible()
        box = await new_agent(acts)
        await acts.press(box.get_by_label("in this dashboard’s sandbox"))
        await box.get_by_label(agent).check()
        await acts.fill(box.get_by_label("What is to be done"), "Greet the crane [[hold it]]")
        await acts.press(box.get_by_role("button", name=f"Start {agent}"))
        await until_asked(jobs, "Greet the crane")
        await expect(panes).to_have_count(2)
    home = (await jobs.api.get(f"/v1/dashboards/{board}")).json()["sandbox_id"]
    (there,) = (await jobs.api.get(f"/v1/sandboxes/{home}/agents")).json()["agents"]
    assert there["agent"] == agent


async def new_agent(acts: Acts) -> Locator:
    """Press the canvas's *Agent*. Returns the box for a task."""
    await acts.press(acts.page.get_by_role("button", name="New agent"))
    return acts.page.get_by_role("dialog", name="New agent")
