"""A real Codex as a worker, asked and answered by touch on a page of a phone's size."""

import asyncio
from collections.abc import Callable

import pytest
from playwright.async_api import expect

from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, run
from tests.e2e.agents.test_workers import ASKS, until
from tests.e2e.page.test_people import PHONE_SCREEN, STING
from tests.e2e.page.test_real_page import LINK
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.agents,
    pytest.mark.timeout(300),
    pytest.mark.asyncio(loop_scope="session"),
    needs_chromium,
]

MILLISECONDS = 60_000
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
