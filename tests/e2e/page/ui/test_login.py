import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_login_by_link_opens_page_and_clears_fragment(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(server.url)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    assert TICKET not in page.url
    await page.go_back()
    assert TICKET not in page.url


async def test_login_without_link_says_how_to_get_one(server: ScriptedServer, page: Page) -> None:
    await page.goto(server.url)
    await expect(page.get_by_role("heading", name="Log in to Atoll")).to_be_visible()
    await expect(page.get_by_text("atoll login")).to_be_visible()


async def test_login_by_used_link_says_so(server: ScriptedServer, page: Page) -> None:
    server.tickets.clear()
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("alert")).to_contain_text("used already")
    assert TICKET not in page.url


async def test_login_ended_by_server_shows_logged_out_page(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    server.cookies.clear()
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_role("alert")).to_contain_text("login has ended")


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
    await expect(page.get_by_role("button", name="New task").first).to_be_visible()
