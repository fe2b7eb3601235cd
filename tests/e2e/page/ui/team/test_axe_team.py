"""axe-core over what teams add to the page, in light and dark colours, at a desk and by phone."""

import pytest
from playwright.async_api import Browser, expect

from tests.bounds import matrix
from tests.e2e.page.test_axe import AXE
from tests.e2e.page.ui.looks.test_axe_routes import DEVICES, surveyed
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_team import BOB, ROBOT, SECRET
from .test_joining import OFFER

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/"),
]


@pytest.mark.parametrize("device", matrix(DEVICES, "desktop"))
async def test_pages_of_a_team_hold_to_axe(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    team = server.team
    team.use_oidc("Acme", "A realm with quite a long name for contractors of Acme")
    team.found()
    team.add(BOB, "Bob Ray with a name that goes on", email="bob@example.org", groups=["/dev"])
    team.add(ROBOT, "deploy", kind="atm")
    team.quota |= {"sandboxes": 4, "memory": "6Gi"}
    team.offered = OFFER
    server.add_sandbox("bobs", scope="shared", owner=BOB)
    async with surveyed(browser, f"{server.url}#/terminals", device) as found:
        page = found.page
        await expect(page.get_by_role("link", name="Continue with Acme")).to_be_visible()
        await found.check("login screen")
        await page.goto(f"{server.url}#login={TICKET}")
        await expect(page.get_by_role("form", name="New task")).to_be_visible()
        await page.goto(f"{server.url}#join={SECRET}")
        await expect(page.get_by_role("button", name="Join Acme")).to_be_visible()
        await found.check("an invitation")
        await page.get_by_role("button", name="Not now").click()
        await page.goto(f"{server.url}#link={SECRET}")
        await expect(page.get_by_role("heading", name="Are you Ann?")).to_be_visible()
        await found.check("a link for one's login")
        await page.get_by_role("button", name="Not now").click()
        await page.goto(f"{server.url}#/account")
        await expect(page.get_by_role("button", name="Link your login")).to_be_visible()
        await expect(page.get_by_role("list", name="Logins")).to_contain_text("here")
        await found.check("account")
        await found.check_dialog(page.get_by_role("button", name="Make a token"), "a token")
        await page.goto(f"{server.url}#/team")
        await expect(page.locator(".quota")).to_have_count(2)
        await found.check("team")
        await found.check_dialog(page.get_by_role("button", name="Invite somebody"), "invite")
        await found.check_dialog(page.get_by_role("button", name="Remove deploy"), "remove")
        await found.check_dialog(page.get_by_role("button", name="Groups of deploy"), "groups")
        await found.check_dialog(page.get_by_role("button", name="Edit").first, "quota")
        if device == "phone":
            await page.get_by_role("button", name="Sandboxes").click()
        await page.get_by_role("button", name="Ann Ray Acme").click()
        await found.check("account menu")
