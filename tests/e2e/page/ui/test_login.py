import pytest
from playwright.async_api import Page, expect

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_login_by_link_opens_page_and_clears_fragment(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(server.url)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New sandbox")).to_be_visible()
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
    await expect(page.get_by_role("button", name="New sandbox")).to_be_visible()
    server.cookies.clear()
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_role("alert")).to_contain_text("login has ended")
