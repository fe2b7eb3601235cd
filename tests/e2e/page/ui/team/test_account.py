"""One's own account: the menu, the name, where one is logged in, and personal access tokens."""

import asyncio

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_team import CODE, PAT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def account(server: ScriptedServer, page: Page) -> Locator:
    """Somebody of a team at their account, by the menu at the foot of the rail."""
    await page.goto(f"{server.url}#login={TICKET}")
    await page.get_by_role("button", name="Ann Ray").click()
    await page.get_by_role("button", name="Your account").click()
    main = page.get_by_role("main", name="Your account")
    await expect(main).to_be_visible()
    return main


async def test_one_persons_page_has_no_account_and_no_team(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    async with page.expect_response("**/v1/organizations"):
        await page.reload()
    for place in ("#/account", "#/team"):
        await page.goto(f"{server.url}{place}")
        await expect(page.get_by_role("heading", name="What is to be done?")).to_be_visible()
    await expect(page.locator(".account-menu")).to_have_count(0)
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox", name="Find a command or sandbox").fill("Your account")
    await expect(page.get_by_role("option", name="Your account")).to_have_count(0)
    # A code that nobody waits with is confirmed by nobody.
    await page.keyboard.press("Escape")
    await page.goto(f"{server.url}#/cli/WXZZ-WXZZ")
    main = page.get_by_role("main", name="A command line logs in")
    await expect(main.get_by_role("alert")).to_contain_text("No command line waits")
    await expect(main.get_by_role("button", name="Confirm")).to_have_count(0)


async def test_late_answer_moves_nothing_and_logins_elsewhere_are_ended_one_by_one_or_all(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    server.team.found()
    answered = asyncio.Event()

    async def late(route: Route) -> None:
        await answered.wait()
        await route.continue_()

    await page.route("**/v1/drive", late)
    main = await account(server, page)
    button = main.get_by_role("button", name="Log out everywhere")
    await expect(main.get_by_role("heading", name="Google Drive")).to_be_visible()
    before = await button.bounding_box()
    answered.set()
    await expect(main.get_by_role("heading", name="Google Drive")).to_have_count(0)
    assert await button.bounding_box() == before
    logins = main.get_by_role("list", name="Logins").get_by_role("listitem")
    await expect(logins).to_have_count(2)
    await expect(logins.first).to_contain_text("here")
    await logins.last.get_by_role("button", name="Log out there: Safari on iPhone").click()
    await expect(logins).to_have_count(1)
    await main.get_by_role("button", name="Log out everywhere").click()
    dialog = page.get_by_role("alertdialog", name="Log out everywhere?")
    await dialog.get_by_role("button", name="Log out everywhere").click()
    await expect(page.get_by_role("heading", name="You are logged out")).to_be_visible()
    assert [path for _, path, _ in server.team.asked] == [
        "/v1/me/sessions/se_2",
        "/auth/logout/everywhere",
    ]


async def test_menu_names_person_and_role_and_a_token_is_shown_once_listed_and_revoked(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found(role="member")
    main = await account(server, page)
    await expect(page.locator(".account-menu")).to_contain_text("Acme · Member")
    await main.get_by_label("Your name").fill("Ann R.")
    await main.get_by_role("button", name="Save the name").click()
    await expect(page.locator(".account-menu")).to_contain_text("Ann R.")
    assert server.team.asked == [("PATCH", "/v1/me", {"name": "Ann R."})]
    await main.get_by_role("button", name="Make a token").click()
    dialog = page.get_by_role("dialog", name="Make a token")
    await dialog.get_by_role("button", name="Make it").click()
    await expect(dialog.get_by_role("alert")).to_have_text("Give it a name.")
    await dialog.get_by_label("Name").fill("nightly build")
    await dialog.get_by_label("Valid for").select_option("1 year")
    await dialog.get_by_role("radio", name="Chosen things").check()
    await expect(dialog.get_by_label("org.manage")).to_have_count(0)
    await dialog.get_by_label("sandbox.create").check()
    await dialog.get_by_role("button", name="Make it").click()
    await expect(dialog.get_by_role("alert")).to_have_text("a token lives at most 90 days here")
    await dialog.get_by_label("Valid for").select_option("30 days")
    await dialog.get_by_role("button", name="Make it").click()
    await expect(dialog.get_by_role("textbox", name="Token")).to_have_value(PAT)
    await dialog.get_by_role("button", name="Done").click()
    tokens = main.get_by_role("list", name="Tokens").get_by_role("listitem")
    await expect(tokens).to_contain_text(["never used"])
    assert server.team.asked[-1][2] == {
        "name": "nightly build",
        "ttl": "30d",
        "capabilities": ["sandbox.create"],
    }
    await tokens.get_by_role("button", name="Revoke nightly build").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Revoke").click()
    await expect(main.get_by_text("No tokens.")).to_be_visible()
    assert PAT not in await page.content()


async def test_command_line_is_confirmed_by_the_code_that_both_show(
    server: ScriptedServer, page: Page
) -> None:
    server.team.use_oidc("Acme")
    server.team.found()
    await page.goto(f"{server.url}#/cli/{CODE}")
    await page.get_by_role("link", name="Continue with Acme").click()
    main = page.get_by_role("main", name="A command line logs in")
    await expect(main).to_contain_text("lab-7 at 192.0.2.9 wants to act as Ann Ray")
    await expect(main.locator(".cli-code")).to_have_text(CODE)
    await main.get_by_role("button", name="Confirm").press("Enter")
    await expect(main.get_by_role("status")).to_contain_text("the command line is logged in")
    assert ("POST", f"/auth/cli/{CODE}/confirm", None) in server.team.asked


async def test_ssh_key_is_added_listed_and_removed(server: ScriptedServer, page: Page) -> None:
    server.team.found()
    main = await account(server, page)
    await expect(main.get_by_text("No SSH keys.")).to_be_visible()
    await main.get_by_role("button", name="Add a key").click()
    dialog = page.get_by_role("dialog", name="Add a key")
    field = dialog.get_by_label("Public key")
    await expect(field).to_be_focused()
    await field.fill("-----BEGIN OPENSSH PRIVATE KEY-----")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog.get_by_text("This is no public key of OpenSSH.")).to_be_visible()
    await field.fill("ssh-ed25519 AAAA <b>ada</b>@laptop")
    await dialog.get_by_role("button", name="Add", exact=True).click()
    await expect(dialog).to_have_count(0)
    keys = main.get_by_role("list", name="SSH keys").get_by_role("listitem")
    await expect(keys).to_contain_text(["<b>ada</b>@laptop"])
    await expect(keys).to_contain_text(["ssh-ed25519 · never used"])
    await keys.get_by_role("button", name="Remove").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
    await expect(main.get_by_text("No SSH keys.")).to_be_visible()
    assert server.team.asked[-1] == ("DELETE", "/v1/ssh/keys/key_0", None)
