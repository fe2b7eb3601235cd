"""Logins of agents on the page: begun, finished, used and ended, by keyboard and on a phone."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.page.test_people import PHONE_SCREEN, STING
from tests.e2e.page.ui.open_page import learns
from tests.e2e.page.ui.scripted import ScriptedServer
from tests.peers.browsers import CALM

from .scripted_logins import CODE, KEY, ScriptedLogins
from .test_workers import come_in

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

NARROW = "() => document.documentElement.scrollWidth <= innerWidth"


async def at_secrets(server: ScriptedServer, page: Page) -> ScriptedLogins:
    await come_in(server, page, "secrets")
    return server.logins


async def test_login_by_a_code_is_confirmed_turned_on_and_ended(
    server: ScriptedServer, page: Page
) -> None:
    logins = await at_secrets(server, page)
    section = page.get_by_role("region", name="Logins of agents")
    await expect(section.get_by_text("No login.")).to_be_visible()
    await section.get_by_role("button", name="Log an agent in").press("Enter")
    dialog = page.get_by_role("dialog", name="Log an agent in")
    await expect(dialog.get_by_label("Agent")).to_be_focused()
    await dialog.get_by_role("button", name="Begin").press("Enter")
    await learns(page, lambda: logins.begun, [{"agent": "codex", "method": 1}])
    row = section.get_by_role("listitem")
    await expect(row).to_contain_text("waits for you")
    link = row.get_by_role("link", name="the page at auth.example")
    assert await link.get_attribute("href") == "https://auth.example/device"
    assert await link.get_attribute("rel") == "noopener noreferrer"
    await expect(row.get_by_label("Code of codex", exact=True)).to_have_value(CODE)
    # Its person confirms it elsewhere, and the page finds out by itself.
    logins.logins["alg_1"] |= {"status": "ready", "scopes": ["openid", "profile"]}
    await expect(row).to_contain_text("ready")
    await expect(row.get_by_label("Code of codex", exact=True)).to_have_count(0)
    await expect(row).to_contain_text("for openid, profile")
    await row.get_by_role("button", name="Use it: codex").click()
    asked = page.get_by_role("alertdialog", name="Use this login of codex?")
    await expect(asked).to_contain_text("Your plan must allow to be used so")
    await expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
    assert logins.logins["alg_1"]["in_use"] is False
    await asked.get_by_role("button", name="My plan allows it").click()
    await expect(row).to_contain_text("in use")
    await row.get_by_role("button", name="Turn off: codex").click()
    await expect(row.get_by_text("in use")).to_have_count(0)
    await row.get_by_role("button", name="End the login of codex").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="End it").click()
    await expect(section.get_by_role("list", name="Logins that ended")).to_contain_text("ended")
    await expect(section.get_by_role("button", name="Use it: codex")).to_have_count(0)


async def test_exposed_login_says_where_its_token_is_and_is_taken_back(
    server: ScriptedServer, page: Page
) -> None:
    logins = await at_secrets(server, page)
    logins.add(status="ready", in_use=True, exposed_to=["sandbox:sb_1"])
    logins.add("opencode", method=KEY, provider="anthropic")
    await page.reload()
    section = page.get_by_role("region", name="Logins of agents")
    row = section.get_by_role("listitem").filter(has_text="in use")
    await expect(row).to_contain_text("Its access token is inside sandbox:sb_1")
    key = section.get_by_role("listitem").filter(has_text="by a key")
    await expect(key).to_contain_text("anthropic")
    await expect(key.get_by_text("inside")).to_have_count(0)
    await row.get_by_role("button", name="Take codex back from inside").press("Enter")
    await expect(row.get_by_text("Its access token is inside")).to_have_count(0)
    assert logins.logins["alg_1"]["exposed_to"] == []


def backend(name: str, *, doors: bool) -> dict[str, object]:
    return {"name": name, "available": True, "reason": None, "capabilities": {"doors": doors}}


async def test_login_is_put_inside_where_no_doors_are_after_its_risk_was_read(
    server: ScriptedServer, page: Page
) -> None:
    mine = server.add_sandbox("pod", extension="ext.mine")
    server.add_sandbox("box")
    logins = await at_secrets(server, page)
    logins.add(status="ready", expires_at="2099-01-01T00:00:00.000Z")
    logins.add("opencode", method=KEY, provider="anthropic")
    section = page.get_by_role("region", name="Logins of agents")
    found = {"extensions": [backend("ext.namespaces", doors=True)]}
    await page.route("**/v1/extensions*", lambda route: route.fulfill(json=found))
    await page.reload()
    await expect(section.get_by_role("listitem")).to_have_count(2)
    # Every backend has doors, which serve it.
    await expect(section.get_by_role("button", name="inside")).to_have_count(0)
    found["extensions"].append(backend("ext.mine", doors=False))
    await page.reload()
    # A key is exposed nowhere.
    await expect(section.get_by_role("button", name="inside")).to_have_count(1)
    await section.get_by_role("button", name="Put the token of codex inside").press("Enter")
    dialog = page.get_by_role("dialog", name="Put the token of codex inside?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await expect(dialog.get_by_role("note")).to_contain_text("The risk is yours.")
    await expect(dialog.get_by_role("note")).to_contain_text("does not end a token that is inside")
    where = dialog.get_by_label("Where")
    offered = await where.get_by_role("option").all_inner_texts()
    assert "Sandbox pod" in offered and "Sandbox box" not in offered
    submit = dialog.get_by_role("button", name="Put it inside, at my risk")
    await submit.click()
    await expect(dialog.get_by_role("alert")).to_have_text("Choose where it goes.")
    assert logins.logins["alg_1"]["exposed_to"] == []
    await where.select_option(label="Sandbox pod")
    await submit.click()
    await expect(dialog).to_have_count(0)
    assert logins.logins["alg_1"]["exposed_to"] == [f"sandbox:{mine}"]
    await expect(section).to_contain_text(f"Its access token is inside sandbox:{mine}")


async def test_login_in_a_browser_is_finished_by_its_address_on_a_phone(
    server: ScriptedServer, browser: Browser
) -> None:
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    page = await context.new_page()
    logins = await at_secrets(server, page)
    await page.get_by_role("button", name="Log an agent in").tap()
    dialog = page.get_by_role("dialog", name="Log an agent in")
    await dialog.get_by_text("This browser", exact=True).tap()
    await dialog.get_by_role("button", name="Begin").tap()
    await learns(page, lambda: logins.begun, [{"agent": "codex", "method": 0}])
    line = page.get_by_label("Address", exact=True)
    await expect(line).to_be_visible()
    finish = page.get_by_role("button", name="Finish the login")
    await finish.tap()
    await expect(page.get_by_role("alert")).to_have_text(
        "Paste the whole address that the browser ended at."
    )
    await line.fill("http://localhost:1455/auth/callback?state=x")
    await finish.tap()
    await expect(page.get_by_role("alert")).to_contain_text("not the address")
    assert await line.get_attribute("aria-invalid") == "true"
    await line.fill("  http://localhost:1455/auth/callback?code=c&state=x ")
    await finish.tap()
    await expect(page.locator("[data-login='ready']")).to_be_visible()
    assert logins.pasted[-1] == "http://localhost:1455/auth/callback?code=c&state=x"
    box = await page.get_by_role("button", name="Use it: codex").bounding_box()
    assert box is not None and box["height"] >= 44
    assert await page.evaluate(NARROW)
    await context.close()


async def test_key_goes_in_once_and_what_is_wrong_stands_at_its_field(
    server: ScriptedServer, page: Page
) -> None:
    logins = await at_secrets(server, page)
    await page.get_by_role("button", name="Log an agent in").click()
    dialog = page.get_by_role("dialog", name="Log an agent in")
    # Not every agent can log in here.
    server.logins.begun.clear()
    await dialog.get_by_text("An API key").click()
    await dialog.get_by_role("button", name="Begin").click()
    await expect(dialog.get_by_role("alert")).to_have_text("Paste the key.")
    key = dialog.get_by_label("API key", exact=True)
    assert await key.get_attribute("type") == "password"
    await key.fill("sk bad")
    await dialog.get_by_role("button", name="Begin").click()
    await expect(dialog.get_by_role("alert")).to_have_text("A key has no blanks.")
    await key.fill("sk-good")
    await dialog.get_by_role("button", name="Begin").click()
    await expect(dialog).to_have_count(0)
    asked = {"agent": "codex", "method": KEY, "api_key": "sk-good", "provider": "openai"}
    assert logins.begun[-1] == asked
    assert "sk-good" not in await page.content()


async def test_key_is_for_the_provider_that_was_chosen(server: ScriptedServer, page: Page) -> None:
    logins = await at_secrets(server, page)
    await page.get_by_role("button", name="Log an agent in").click()
    dialog = page.get_by_role("dialog", name="Log an agent in")
    await dialog.get_by_text("An API key").click()
    # Codex calls one alone.
    await expect(dialog.get_by_label("Provider")).to_have_count(0)
    await dialog.get_by_label("Agent").select_option("opencode")
    await expect(dialog.get_by_label("Provider")).to_have_value("openai")
    await dialog.get_by_label("Provider").select_option("anthropic")
    await dialog.get_by_label("API key", exact=True).fill("sk-other")
    await dialog.get_by_role("button", name="Begin").click()
    await expect(dialog).to_have_count(0)
    assert (logins.begun[-1]["agent"], logins.begun[-1]["provider"]) == ("opencode", "anthropic")


async def test_logins_that_failed_say_why_and_a_page_that_is_none_is_no_link(
    server: ScriptedServer, page: Page
) -> None:
    why = f"the issuer refused it {STING}"
    server.logins.add("codex", status="failed", reason=why, page="", user_code="")
    server.logins.add("claude-code", page="javascript:window.stung=1")
    server.logins.broken = True
    logins = await at_secrets(server, page)
    section = page.get_by_role("region", name="Logins of agents")
    await expect(section.get_by_role("alert")).to_contain_text("The database does not answer")
    logins.broken = False
    await section.get_by_role("button", name="Try again").click()
    await expect(section.get_by_text("javascript:window.stung=1")).to_be_visible()
    assert await section.get_by_role("link").count() == 0
    await section.get_by_text("1 that ended").click()
    await expect(section.get_by_text(why)).to_be_visible()
    assert await page.evaluate("window.stung") is None
