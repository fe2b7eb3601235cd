"""An invitation's link: log in first, see who invites to what, and join."""

import pytest
from playwright.async_api import Page, expect

from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_team import SECRET, stamp

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OFFER = {
    "organization": "Acme",
    "role": "member",
    "invited_by": "Ada Lovelace",
    "expires_at": stamp(days=6, hours=23),
}


async def test_invited_person_logs_in_sees_the_offer_and_lands_in_the_organization(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    server.team.me |= {"org_id": "nobody", "name": "Ann Ray"}
    server.team.offered = OFFER
    addresses: list[str] = []
    page.on("request", lambda one: addresses.append(one.url))
    await page.goto(f"{server.url}#join={SECRET}")
    await expect(page.get_by_role("heading", name="You are invited to a team")).to_be_visible()
    assert page.url == f"{server.url}#/"
    await page.get_by_role("link", name="Continue with Acme").click()
    await expect(page.get_by_role("heading")).to_have_text("Ada Lovelace invites you to Acme")
    await expect(page.get_by_role("main")).to_contain_text("You join as member.")
    await page.get_by_role("button", name="Join Acme").press("Enter")
    await expect(page.get_by_text("You are a member of Acme.")).to_be_visible()
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    assert not any(SECRET in one.partition("#")[0] for one in addresses)
    stored = await page.evaluate("JSON.stringify([{...sessionStorage}, {...localStorage}])")
    assert SECRET not in stored


async def test_invitation_that_was_used_is_declined_or_is_somebody_elses_leads_on(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    await page.goto(f"{server.url}#join={SECRET}")
    await expect(page.get_by_role("alert")).to_contain_text("over or was used")
    await page.get_by_role("button", name="Go on to Atoll").click()
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    # One that is declined is accepted by nobody.
    server.team.offered = OFFER
    await page.goto(f"{server.url}#join={SECRET}")
    await page.get_by_role("button", name="Not now").click()
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    assert {path for _, path, _ in server.team.asked} == {"/v1/invitations/look"}
    # The wrong person lets another log in.
    await page.goto(f"{server.url}#join={SECRET}")
    await page.get_by_role("button", name="Log in as somebody else").click()
    await page.get_by_role("link", name="Continue with Acme").click()
    await expect(page.get_by_role("heading")).to_have_text("Ada Lovelace invites you to Acme")


async def test_link_where_nobody_can_log_in_says_whom_to_ask(
    server: ScriptedServer, page: Page
) -> None:
    server.team.offered = OFFER
    await page.goto(f"{server.url}#join={SECRET}")
    await expect(page.get_by_role("heading", name="You are invited to a team")).to_be_visible()
    await expect(page.get_by_role("main")).to_contain_text("Ask whoever invited you")
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading")).to_have_text("Ada Lovelace invites you to Acme")
    await expect(page.get_by_role("main")).to_contain_text("for somebody else")
    await expect(page.get_by_role("button", name="Join Acme")).to_be_disabled()
    await page.get_by_role("button", name="Not now").click()
    await expect(page.get_by_role("button", name="New task")).to_be_visible()


async def test_somebody_without_a_team_is_told_how_to_get_into_one(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    server.team.me |= {"org_id": "nobody", "name": "Ann Ray"}
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", name="You have no team yet")).to_be_visible()
    await page.get_by_role("button", name="Log out").click()
    await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
