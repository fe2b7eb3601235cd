"""Real workers in Chromium: asked and answered by touch on a phone, taken over at a desk."""

import ast
import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, first_here, run
from tests.e2e.agents.workers.test_worker_threads import ASKING
from tests.e2e.agents.workers.test_workers import asked, eventually, trees, until
from tests.e2e.page.test_people import DESKTOP, PHONE_SCREEN, STING, TESTING
from tests.e2e.page.test_real_page import LINK
from tests.e2e.page.ui.open_page import sandbox_menu, visit
from tests.peers.browsers import CALM, chromium, needs_chromium

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.usefixtures("browsers"),
    needs_chromium,
]

MILLISECONDS = 60_000
_SHOWS = """([id, words]) => {
  const buffer = window.__atollTerms?.get(id)?.buffer.active;
  for (let y = 0; y < (buffer?.length ?? 0); y += 1)
    if (buffer.getLine(y)?.translateToString(true).includes(words)) return true;
  return false;
}"""
NARROW = "() => document.documentElement.scrollWidth <= innerWidth"
PROGRAMS = {"codex": "codex", "claude-code": "claude"}
REASONS = {"codex": "May I?", "claude-code": "Allow Bash?"}
QUESTION = (
    'AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour",'
    '"multiSelect":false,"options":[{"label":"red","description":"r"},'
    '{"label":"blue","description":"b"}]}]}'
)
WATCH = """
import os, pathlib, sys, time
def trees():
    found = {}
    for one in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            program = os.path.basename(os.readlink(one / "exe"))
            parent = (one / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if program == sys.argv[1]:
            found[one.name] = parent
    return sorted(one for one, parent in found.items() if parent not in found)
seen = []
while not os.path.exists("/tmp/watched"):
    now = trees()
    if seen[-1:] != [now]:
        seen.append(now)
    time.sleep(0.02)
print(seen)
"""
"""Write down which process trees of a program there are, each time that they change."""


@asynccontextmanager
async def signed_in(w: World, **screen: Any) -> AsyncIterator[Page]:
    """The page of a person."""
    done = await asyncio.to_thread(w.server.run, "login")
    async with chromium() as browser:
        context = await browser.new_context(**CALM, **screen)
        await context.add_init_script(TESTING)
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        await page.goto(LINK.findall(done.stdout)[0])
        yield page
        await context.close()


async def created(w: World, name: str, **body: str) -> str:
    """Have a worker. Returns its sandbox."""
    made = await w.api.post("/v1/workers", json={"worker_id": name, **body})
    assert made.status_code == 201, made.text
    sandbox: str = (await until(w, name, "running"))["sandbox"]["id"]
    return sandbox


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
async def test_question_of_a_worker_is_answered_on_a_phone(
    w: World, provide_agent: Callable[[TestServer, str], None], agent: str
) -> None:
    provide_agent(w.server, agent)
    name = f"phone-{agent}"
    sandbox = await created(w, name, agent=agent, permissions="ask")
    async with signed_in(w, **PHONE_SCREEN) as page:
        await page.get_by_role("button", name="Sandboxes").tap()
        await visit(page, "Workers")
        await page.get_by_role("link", name=name, exact=True).tap()
        await expect(page.locator("[data-heartbeat='fresh']")).to_be_visible()
        line = page.get_by_role("textbox", name=f"Ask {agent}")
        await line.fill(f"[[tool {ASKING[agent]}]] [[say {STING}]]")
        await page.get_by_role("button", name="Ask", exact=True).tap()
        asked = page.locator(".talk-asks")
        await expect(asked).to_contain_text(REASONS[agent], timeout=MILLISECONDS)
        await expect(asked.locator("pre")).to_have_text("echo asked > asked.txt")
        await expect(page.get_by_text(f"{agent} works")).to_be_visible()
        assert (await run(w, sandbox, "test", "-e", "asked.txt"))[0] == 1
        # The page is away while it is asked, and finds the question when it is back.
        await page.reload()
        await asked.get_by_role("button", name="Allow", exact=True).tap()
        log = page.get_by_role("log", name="What the agent did")
        await expect(log).to_contain_text("Turn done", timeout=MILLISECONDS)
        assert await run(w, sandbox, "cat", "asked.txt") == (0, b"asked\n")
        await expect(asked.get_by_role("button")).to_have_count(0)
        await expect(log.locator(".talk-said").last).to_contain_text(STING)
        assert await page.evaluate("window.stung") is None
        assert await page.evaluate(NARROW)
        await page.get_by_role("button", name="Stop", exact=True).tap()
        await page.get_by_role("button", name="Stop it").tap()
        await expect(log).to_contain_text("The worker stopped.", timeout=MILLISECONDS)
        await expect(page.locator("[data-status='stopped']")).to_be_visible(timeout=MILLISECONDS)


async def test_claude_code_asks_which_of_several_and_is_answered_on_a_phone(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "claude-code")
    await created(w, "colours", agent="claude-code")
    async with signed_in(w, **PHONE_SCREEN) as page:
        await page.goto(f"{w.server.url}/#/workers/colours")
        await page.get_by_role("textbox", name="Ask claude-code").fill(f"[[tool {QUESTION}]]")
        await page.get_by_role("button", name="Ask", exact=True).tap()
        asked = page.locator(".talk-asks")
        await expect(asked).to_contain_text("Which colour?", timeout=MILLISECONDS)
        await expect(asked.get_by_role("button")).to_have_text(["red", "blue", "Send"])
        assert await page.evaluate(NARROW)
        await asked.get_by_role("button", name="blue").tap()
        log = page.get_by_role("log", name="What the agent did")
        await expect(log).to_contain_text("Turn done", timeout=MILLISECONDS)
        await expect(asked.get_by_role("button")).to_have_count(0)
    (told,) = [one for one in w.model.bodies if "tool_result" in one]
    assert '\\"Which colour?\\"=\\"blue\\"' in told


@first_here("claude-code", "codex")
async def test_worker_is_taken_over_typed_to_and_given_back(
    w: World, provide_agent: Callable[[TestServer, str], None], agent: str
) -> None:
    provide_agent(w.server, agent)
    name = f"desk-{agent}"
    sandbox = await created(w, name, agent=agent)

    async def is_typed() -> bool:
        return await run(w, sandbox, "cat", "typed.txt") == (0, b"typed\n")

    async with signed_in(w, viewport=DESKTOP) as page, asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(run(w, sandbox, "python3", "-c", WATCH, PROGRAMS[agent]))
        await visit(page, "Workers")
        await page.get_by_role("link", name=name, exact=True).click()
        line = page.get_by_role("textbox", name=f"Ask {agent}")
        await line.fill("[[say Before.]]")
        await line.press("Enter")
        log = page.get_by_role("log", name="What the agent did")
        await expect(log).to_contain_text("Turn done", timeout=MILLISECONDS)
        await page.get_by_role("button", name="Take over").click()
        await page.get_by_role("alertdialog").get_by_role("button", name="Take over").click()
        await page.wait_for_url(f"**/#/sandboxes/{sandbox}/**")
        ((mode, terminal),) = await trees(w, sandbox)
        assert mode == "tui"
        await page.wait_for_function(_SHOWS, arg=[terminal, "Before."])
        await page.locator(".pane:not([hidden]) .xterm-helper-textarea").focus()
        words = TOOLS[agent].format(command="echo typed > typed.txt")
        await page.keyboard.type(f"[[tool {words}]]")
        await page.wait_for_function(_SHOWS, arg=[terminal, "typed.txt"])
        await page.keyboard.press("Enter")
        await eventually(is_typed)
        await (await sandbox_menu(page)).get_by_role("link", name=f"worker {name}").click()
        await expect(line).to_have_count(0)
        await page.get_by_role("button", name="Give back").click()
        await expect(line).to_be_visible(timeout=MILLISECONDS)
        ((mode, _),) = await trees(w, sandbox)
        assert mode == "machine"
        await line.fill("[[say After.]]")
        await line.press("Enter")
        await expect(log.locator(".talk-said").last).to_contain_text("After.", timeout=MILLISECONDS)
        await expect(log.get_by_text("Turn done")).to_have_count(2, timeout=MILLISECONDS)
        assert (await run(w, sandbox, "touch", "/tmp/watched"))[0] == 0
    await one_tree_and_one_thread(w, name, ast.literal_eval(watching.result()[1].decode()))


async def one_tree_and_one_thread(w: World, name: str, seen: list[list[str]]) -> None:
    """At any time there was one process tree, three after another; all turns are of one thread."""
    assert max(map(len, seen)) == 1 and len({one for now in seen for one in now}) == 3, seen
    (thread,) = (await asked(w, name, "list", "thread/list"))["data"]
    found = await asked(w, name, "read", "thread/read", threadId=thread["id"], includeTurns=True)
    told = [json.dumps(turn["items"]) for turn in found["thread"]["turns"]]
    assert len(told) == 3
    assert ["Before." in told[0], "typed.txt" in told[1], "After." in told[2]] == [True] * 3
