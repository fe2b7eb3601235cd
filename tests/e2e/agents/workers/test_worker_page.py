"""A real Codex as a worker: asked and answered by touch on a phone, taken over at a desk."""

import asyncio
from collections.abc import Callable

import pytest
from playwright.async_api import expect

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import TOOLS, World, run
from tests.e2e.agents.workers.test_workers import ASKS, eventually, trees, until
from tests.e2e.page.test_people import DESKTOP, PHONE_SCREEN, STING, TESTING
from tests.e2e.page.test_real_page import LINK
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
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


async def test_question_of_a_worker_is_answered_on_a_phone(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    made = await w.api.post("/v1/workers", json={"worker_id": "phone", "permissions": "ask"})
    assert made.status_code == 201, made.text
    shown = await until(w, "phone", "running")
    sandbox = shown["sandbox"]["id"]
    done = await asyncio.to_thread(w.server.run, "login")
    async with chromium(whole=True) as browser:
        context = await browser.new_context(**PHONE_SCREEN)
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        await page.goto(LINK.findall(done.stdout)[0])
        await page.get_by_role("button", name="Sandboxes").tap()
        await page.get_by_role("button", name="Workers").tap()
        await page.get_by_role("link", name="phone", exact=True).tap()
        await expect(page.locator("[data-heartbeat='fresh']")).to_be_visible()
        await page.get_by_role("textbox", name="Ask codex").fill(f"[[tool {ASKS}]] [[say {STING}]]")
        await page.get_by_role("button", name="Ask", exact=True).tap()
        asked = page.locator(".talk-asks")
        await expect(asked).to_contain_text("May I?", timeout=MILLISECONDS)
        await expect(asked.locator("pre")).to_have_text("echo asked > asked.txt")
        await expect(page.get_by_text("codex works")).to_be_visible()
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
        await context.close()


async def test_worker_is_taken_over_typed_to_and_given_back(
    w: World, provide_agent: Callable[[TestServer, str], None]
) -> None:
    provide_agent(w.server, "codex")
    made = await w.api.post("/v1/workers", json={"worker_id": "desk"})
    assert made.status_code == 201, made.text
    sandbox = (await until(w, "desk", "running"))["sandbox"]["id"]
    done = await asyncio.to_thread(w.server.run, "login")

    async def is_typed() -> bool:
        return await run(w, sandbox, "cat", "typed.txt") == (0, b"typed\n")

    async with chromium(whole=True) as browser:
        context = await browser.new_context(viewport=DESKTOP)
        await context.add_init_script(TESTING)
        page = await context.new_page()
        page.set_default_timeout(MILLISECONDS)
        await page.goto(LINK.findall(done.stdout)[0])
        await page.get_by_role("button", name="Workers").click()
        await page.get_by_role("link", name="desk", exact=True).click()
        line = page.get_by_role("textbox", name="Ask codex")
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
        words = TOOLS["codex"].format(command="echo typed > typed.txt")
        await page.keyboard.type(f"[[tool {words}]]")
        await page.wait_for_function(_SHOWS, arg=[terminal, "typed.txt"])
        await page.keyboard.press("Enter")
        await eventually(is_typed)
        await page.get_by_role("link", name="worker desk").click()
        await expect(line).to_have_count(0)
        await page.get_by_role("button", name="Give back").click()
        await expect(line).to_be_visible(timeout=MILLISECONDS)
        ((mode, _),) = await trees(w, sandbox)
        assert mode == "machine"
        await line.fill("[[say After.]]")
        await line.press("Enter")
        await expect(log.locator(".talk-said").last).to_contain_text("After.", timeout=MILLISECONDS)
        await expect(log.get_by_text("Turn done")).to_have_count(2, timeout=MILLISECONDS)
        await context.close()
