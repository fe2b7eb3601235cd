"""The person of a home logs in at a provider once, and stays the same person."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer, test_server
from tests.e2e.page.test_people import person
from tests.e2e.page.test_real_page import LINK
from tests.e2e.page.test_second_person import CONFIG
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    needs_chromium,
]


async def test_browser_of_the_login_link_makes_the_login_the_same_person() -> None:
    with (
        oidc_provider({"sub": "ann", "name": "Ann Ray"}, {"sub": "bob", "name": "Bob"}) as provider,
        test_server({"ATOLL_TEST_OIDC_SECRET": "of-a-test"}, start=False) as server,
    ):
        (server.home / "config.toml").write_text(CONFIG.format(issuer=provider.issuer))
        await asyncio.to_thread(server.start)
        with api_of(server) as api:
            api.call("PATCH", "/v1/me", json={"name": "Ann"})
            api.call("POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
            api.call("POST", "/v1/dashboards", json={"name": "Release"})
        async with chromium() as browser:
            printed = await asyncio.to_thread(server.run, "login")
            async with person(browser, LINK.findall(printed.stdout)[0]) as ann:
                await link_by_the_page(ann, server, provider)
            printed = await asyncio.to_thread(server.run, "org", "unlink", "--yes")
            assert "Ann Ray is somebody else" in printed.stderr
            printed = await asyncio.to_thread(server.run, "org", "link")
            async with person(browser, printed.stdout.strip()) as bob:
                await link_by_the_command_line(bob, provider)


async def link_by_the_page(ann: Page, server: TestServer, provider: OidcProcess) -> None:
    await expect(ann.get_by_role("button", name="Acme · Owner")).to_be_visible()
    await ann.goto(f"{server.url}/#/account")
    await ann.get_by_role("button", name="Link your login").click()
    await expect(ann.get_by_role("heading", name="Log in, and stay who you are")).to_be_visible()
    await enter(ann, provider, "ann")
    await expect(ann.get_by_role("heading", name="Are you Ann?")).to_be_visible()
    await expect(ann.get_by_role("main")).to_contain_text("You are logged in as Ann Ray.")
    await ann.get_by_role("button", name="Yes, this is me").click()
    await expect(ann.get_by_text("This login is you from now on.")).to_be_visible()
    await ann.goto(f"{server.url}/#/dashboards")
    await expect(ann.get_by_role("link", name="Release").first).to_be_visible()
    await ann.goto(f"{server.url}/#/account")
    own = ann.locator("section").filter(has=ann.get_by_role("heading", name="Your login"))
    await expect(own).to_contain_text("Ann Ray")


async def link_by_the_command_line(bob: Page, provider: OidcProcess) -> None:
    """A link that another one opens names them, and is declined."""
    await expect(bob.get_by_role("heading", name="Log in, and stay who you are")).to_be_visible()
    await enter(bob, provider, "bob")
    await expect(bob.get_by_role("main")).to_contain_text("You are logged in as Bob.")
    await bob.get_by_role("button", name="Not now").click()
    await expect(bob.get_by_role("heading").first).not_to_have_text("Are you Ann?")


async def enter(page: Page, provider: OidcProcess, sub: str) -> None:
    """Log in at the provider, and come back."""
    await page.get_by_role("link", name="Continue with Example Corp").click()
    await page.wait_for_url(f"{provider.issuer}/**")
    await page.locator("input[name=sub]").fill(sub)
    await page.keyboard.press("Enter")
