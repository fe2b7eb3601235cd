"""The page whose parts or whose first answer do not come says so, and is not blank for long."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SCRIPTS = "**/assets/*.js"


async def test_page_whose_script_was_broken_off_says_what_to_do(
    server: ScriptedServer, page: Page
) -> None:
    """As where a network comes or goes meanwhile (`ERR_NETWORK_CHANGED`)."""
    server.add_sandbox("box")
    await page.route(SCRIPTS, lambda route: route.abort())
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", name="Atoll is loading")).to_be_visible()
    await expect(page.get_by_text("reload it")).to_be_visible()
    await page.unroute(SCRIPTS)
    await page.reload()
    await expect(page.locator(".row")).to_have_count(1)
    await expect(page.get_by_text("reload it")).to_have_count(0)


async def test_page_whose_first_answer_does_not_come_says_that_it_waits(
    server: ScriptedServer, page: Page
) -> None:
    waits = asyncio.Event()

    async def hold(route: Route) -> None:
        await waits.wait()
        await route.continue_()

    await page.route("**/auth/me", hold)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", name="Atoll has not answered yet")).to_be_visible()
    waits.set()
    await expect(page.get_by_role("heading", name="Atoll has not answered yet")).to_have_count(0)
    await expect(page.get_by_role("button", name="New sandbox").first).to_be_visible()
