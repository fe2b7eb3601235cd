"""Logging in by providers of identities: a button for each, and the way back to the same place."""

import pytest
from playwright.async_api import Page, expect

from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

#: Notes what was on the page before it was asked for: nothing of it may flash.
_SEEN = """
window.seen = [];
new MutationObserver(() => {
  for (const one of document.querySelectorAll('.rail, .command')) window.seen.push(one.className);
}).observe(document, {childList: true, subtree: true});
"""


async def test_each_realm_has_a_button_and_nothing_else_flashes(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme", "Contractors")
    await page.add_init_script(_SEEN)
    await page.goto(server.url)
    ways = page.get_by_role("list", name="Ways to log in").get_by_role("link")
    await expect(ways).to_have_text(["Continue with Acme", "Continue with Contractors"])
    assert await page.evaluate("window.seen") == []


async def test_login_at_a_provider_leads_back_to_the_place_that_was_asked_for(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    await page.goto(f"{server.url}#/terminals")
    await expect(page.get_by_text("you are back where you were")).to_be_visible()
    await page.get_by_role("link", name="Continue with Acme").click()
    await expect(page.get_by_role("heading", name="Terminals")).to_be_visible()
    assert server.team.begun == [{"realm": "acme", "next": "#/terminals"}]
    assert page.url.endswith("#/terminals")


async def test_logging_out_says_so_and_the_keyboard_alone_leads_back(
    server: ScriptedServer, page: Page
) -> None:
    # A hostile place to come back to is no address.
    server.team.next = "https://evil.example/"
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    assert page.url == f"{server.url}#/"
    server.team.next = "#/"
    server.team.use_oidc("Acme")
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Find a command or sandbox").fill("Log out")
    await page.keyboard.press("Enter")
    await page.get_by_role("alertdialog").get_by_role("button", name="Log out").press("Enter")
    await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Continue with Acme")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()


async def test_a_session_that_ended_elsewhere_leads_back_to_the_same_sandbox(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    sandbox = server.add_sandbox("demo")
    await page.goto(f"{server.url}#login={TICKET}")
    await page.locator(".row").click()
    server.cookies.clear()
    await page.evaluate("window.dispatchEvent(new Event('online'))")
    await expect(page.get_by_role("alert")).to_contain_text("login has ended")
    await page.get_by_role("link", name="Continue with Acme").click()
    await expect(page.get_by_role("main", name="Sandbox demo")).to_be_visible()
    assert server.team.begun[0]["next"].startswith(f"#/sandboxes/{sandbox}")
