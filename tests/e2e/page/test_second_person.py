"""From one person's home to a second one who is invited, logs in at a provider, and watches."""

import asyncio

import pytest
from playwright.async_api import Browser, Page, expect

from atoll.testing.server import TestServer, test_server
from tests.e2e.page.test_people import owner, person, role
from tests.e2e.page.test_real_page import Terminal
from tests.e2e.page.ui.open_page import sandbox_menu
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    needs_chromium,
]

CONFIG = """
[auth]
mode = "oidc"

[[auth.realms]]
realm = "corp"
name = "Example Corp"
issuer = "{issuer}"
client_id = "atoll"
client_secret_env = "ATOLL_TEST_OIDC_SECRET"
"""


async def test_second_person_is_invited_logs_in_and_watches_the_firsts_terminal() -> None:
    with (
        oidc_provider({"sub": "bob", "name": "Bob Ray"}) as provider,
        test_server({"ATOLL_TEST_OIDC_SECRET": "of-a-test"}, start=False) as server,
    ):
        (server.home / "config.toml").write_text(CONFIG.format(issuer=provider.issuer))
        await asyncio.to_thread(server.start)
        async with chromium() as browser:
            await watched(browser, server, provider)


async def watched(browser: Browser, server: TestServer, provider: OidcProcess) -> None:
    with api_of(server) as api:
        api.call("PATCH", "/v1/me", json={"name": "Ann"})
        api.call("POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
        sandbox = api.create(name="together", scope="shared")["sandbox_id"]
        terminal = api.terminal(sandbox, "cat")
    async with owner(browser, server, sandbox, terminal) as ann:
        await role(ann, "You drive")
        link = await invited(ann)
        async with person(browser, link) as bob:
            await joined(bob, provider)
            provider.stop()  # nobody who is logged in needs it
            await bob.get_by_role("link", name="together").click()
            hers, his = Terminal(ann, terminal), Terminal(bob, terminal)
            await role(bob, "Ann drives")
            await hers.type("seen by two\r")
            await his.sees("seen by two")
            await expect(bob.locator(".owner-mark").first).to_contain_text("Ann’s")
            await sandbox_menu(bob)
            await expect(bob.get_by_role("button", name="Destroy")).to_have_count(0)


async def invited(ann: Page) -> str:
    """The first one makes an invitation on the team's page, and comes back to her terminal."""
    await ann.get_by_role("button", name="Acme · Owner").click()
    await ann.get_by_role("button", name="Acme: team and quotas").click()
    await ann.get_by_role("button", name="Invite somebody").click()
    dialog = ann.get_by_role("dialog")
    await dialog.get_by_role("button", name="Make a link").click()
    link = await dialog.get_by_role("textbox", name="Invitation link").input_value()
    await dialog.get_by_role("button", name="Done").click()
    await ann.get_by_role("link", name="together").click()
    return link


async def joined(bob: Page, provider: OidcProcess) -> None:
    """The second one logs in at the provider, comes back to the invitation, and joins."""
    await bob.get_by_role("link", name="Continue with Example Corp").click()
    await bob.wait_for_url(f"{provider.issuer}/**")
    await bob.locator("input[name=sub]").fill("bob")
    await bob.keyboard.press("Enter")
    await expect(bob.get_by_role("heading")).to_have_text("Ann invites you to Acme")
    await expect(bob.get_by_role("main")).to_contain_text("logged in as Bob Ray")
    await bob.get_by_role("button", name="Join Acme").click()
    await expect(bob.get_by_text("You are a member of Acme.")).to_be_visible()
