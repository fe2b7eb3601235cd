"""The team's page, and what roles leave of the others: nothing is offered that would be refused."""

import pytest
from playwright.async_api import Page, expect

from tests.e2e.page.ui.open_page import begin_sandbox, sandbox_menu
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_team import BOB, SECRET, organization

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def team_page(server: ScriptedServer, page: Page) -> None:
    """Somebody in front of their team's page."""
    await page.goto(f"{server.url}#login={TICKET}")
    await page.get_by_role("button", name="Ann Ray").click()
    await page.get_by_role("button", name="Acme: team and quotas").click()
    await expect(page.get_by_role("main", name="Team")).to_be_visible()


async def test_administrator_invites_by_a_link_that_is_shown_once(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found(role="admin")
    server.team.use_oidc("Acme")
    await team_page(server, page)
    await page.get_by_role("button", name="Invite somebody").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text("Nobody else can log in here yet")).to_have_count(0)
    assert "Owner" not in await dialog.get_by_label("As", exact=True).inner_text()
    await dialog.get_by_label("As", exact=True).select_option("Viewer")
    await dialog.get_by_label("For whom").fill("bob@example.org")
    await dialog.get_by_role("button", name="Make a link").click()
    link = dialog.get_by_role("textbox", name="Invitation link")
    await expect(link).to_have_value(f"{server.url}#join={SECRET}")
    await expect(dialog).to_contain_text("Whoever opens it logs in, and joins.")
    await expect(dialog).to_contain_text("It works on this machine only.")
    await dialog.get_by_role("button", name="Done").click()
    waiting = page.get_by_role("list", name="Invitations").get_by_role("listitem")
    await expect(waiting).to_contain_text(["as viewer"])
    await waiting.get_by_role("button", name="Revoke").click()
    await expect(waiting).to_have_count(0)
    assert server.team.asked[0][2] == {
        "role": "viewer",
        "ttl": "7d",
        "email": "bob@example.org",
        "groups": [],
    }


async def test_owner_sets_roles_quotas_and_accounts_and_gives_what_was_left(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found()
    server.team.add("p_cyd", "Cyd", groups=["/acme/qa"], groups_claimed=True)
    server.team.add(BOB, "Bob", groups=["dev"])
    server.add_sandbox("bobs", scope="shared", owner=BOB)
    await team_page(server, page)
    members = page.get_by_role("list", name="Members").get_by_role("listitem")
    await expect(members.first).to_contain_text("runs this installation")
    await expect(members.nth(1)).to_contain_text("#/acme/qa (from the login provider)")
    await expect(page.get_by_role("button", name="Groups of Cyd")).to_have_count(0)
    await page.get_by_role("button", name="Groups of Bob").click()
    await page.get_by_role("textbox", name="Groups").fill("dev, ops")
    await page.get_by_role("button", name="Set the groups").click()
    await expect(members.last).to_contain_text("#dev #ops")
    assert server.team.asked[-1][2] == {"groups": ["dev", "ops"]}
    await page.get_by_label("Role of Bob").select_option("Admin")
    await expect(page.get_by_text("Bob is admin now.")).to_be_visible()
    await page.get_by_role("button", name="Remove Bob").click()
    dialog = page.get_by_role("alertdialog", name="Remove Bob?")
    await expect(dialog).to_contain_text("wait here for a new owner")
    await dialog.get_by_role("button", name="Remove").click()
    await expect(members).to_have_count(2)
    await page.get_by_role("button", name="Give bobs").click()
    await page.get_by_role("dialog").get_by_label("To").select_option("Ann Ray")
    await page.get_by_role("dialog").get_by_role("button", name="Give it").click()
    await expect(page.get_by_text("bobs belongs to Ann Ray now.")).to_be_visible()
    await page.get_by_role("button", name="Give Bob's plan").click()
    await page.get_by_role("dialog").get_by_label("To").select_option("Ann Ray")
    await page.get_by_role("dialog").get_by_role("button", name="Give it").click()
    await expect(page.get_by_text("Bob's plan belongs to Ann Ray now.")).to_be_visible()
    await expect(page.get_by_text("Dashboards that wait for a new owner")).to_have_count(0)
    await _quota_is_shown_beside_what_is_used_and_set(server, page)
    await _service_account_gets_a_token(server, page)
    await _invitation_needs_a_login_provider(page)


async def _invitation_needs_a_login_provider(page: Page) -> None:
    """Nobody can accept it where nobody can log in, and that is said."""
    await page.get_by_role("button", name="Invite somebody").click()
    invited = page.get_by_role("dialog")
    await expect(invited.get_by_text("Nobody else can log in here yet")).to_contain_text(
        "docs/run/sign-in.md"
    )
    await invited.get_by_role("button", name="Make a link").click()
    await expect(invited).to_contain_text("Once people can log in here, whoever opens it joins.")
    await invited.get_by_role("button", name="Done").click()


async def _quota_is_shown_beside_what_is_used_and_set(server: ScriptedServer, page: Page) -> None:
    await page.get_by_role("button", name="Edit the quota of Acme").click()
    dialog = page.get_by_role("dialog", name="Quota of Acme")
    await dialog.get_by_label("Sandboxes").fill("4")
    await dialog.get_by_label("Memory").fill("6Gi")
    await dialog.get_by_role("button", name="Set the quota").click()
    await expect(page.locator(".quota").first).to_contain_text("3 of 4")
    await expect(page.locator(".quota-full")).to_have_count(1)
    assert server.team.asked[-1][2] == {"sandboxes": 4, "memory": "6Gi"}


async def _service_account_gets_a_token(server: ScriptedServer, page: Page) -> None:
    await page.get_by_label("Name of a new service account").fill("deploy")
    await page.get_by_role("button", name="Add", exact=True).click()
    await page.get_by_role("button", name="Make a token of deploy").click()
    made = page.get_by_role("dialog", name="Make a token of deploy")
    await made.get_by_label("Name").fill("ci")
    await made.get_by_role("button", name="Make it").click()
    await made.get_by_role("button", name="Done").click()
    await expect(page.get_by_role("list", name="Tokens of deploy")).to_contain_text("ci")
    assert server.team.asked[-1][2]["account"] == "svc_deploy"


async def test_member_sees_the_team_and_changes_nothing(server: ScriptedServer, page: Page) -> None:
    server.team.found(role="member")
    server.team.add(BOB, "Bob", role="owner")
    await team_page(server, page)
    main = page.get_by_role("main", name="Team")
    await expect(main.get_by_role("list", name="Members").get_by_role("listitem")).to_have_count(2)
    await expect(main.locator(".quota").filter(has_text="You")).to_contain_text("no limit")
    await expect(main.get_by_role("button").filter(visible=True)).to_have_count(0)


async def test_viewer_is_offered_nothing_that_would_be_refused(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found(role="viewer")
    server.team.add(BOB, "Bob", role="owner")
    sandbox = server.add_sandbox("bobs", scope="shared", owner=BOB, agent="claude")
    server.add_terminal(sandbox)
    server.agent.recordings["rec_1"] = ""
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".account-menu")).to_contain_text("Acme · Viewer")
    await page.reload()
    await expect(page.locator(".row")).to_contain_text("Bob’s")
    await expect(page.get_by_role("heading", name="Running now")).to_be_visible()
    await expect(page.get_by_role("form", name="New task")).to_have_count(0)
    await expect(page.get_by_role("button", name="Secrets and approvals")).to_have_count(0)
    await page.locator(".row").click()
    await expect(page.get_by_role("tab", name="bash")).to_be_visible()
    await sandbox_menu(page)
    for gone in (
        "New task",
        "New terminal",
        "Stop",
        "Destroy",
        "Give",
        "Share this terminal",
    ):
        await expect(page.get_by_role("button", name=gone, exact=True)).to_have_count(0)
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Split").click()
    await expect(page.get_by_role("button", name="Zoom")).to_be_visible()
    for gone in ("Close bash", "Split right", "Record this terminal"):
        await expect(page.get_by_role("button", name=gone)).to_have_count(0)
    await page.get_by_role("tab", name="Recordings").click()
    recordings = page.get_by_role("list", name="Recordings")
    await expect(recordings.get_by_role("button", name="Play")).to_have_count(1)
    for gone in ("Share", "Remove"):
        await expect(recordings.get_by_role("button", name=gone)).to_have_count(0)
    await page.get_by_role("button", name="Inbox").click()
    await expect(page.get_by_role("main", name="Inbox")).to_contain_text("members answer")


async def test_new_member_learns_in_one_line_who_gives_everybody_a_key(
    server: ScriptedServer, page: Page
) -> None:
    server.ready_agents.clear()
    server.team.found(role="member")
    server.team.add(BOB, "Bob", role="owner")
    await page.goto(f"{server.url}#login={TICKET}")
    first = page.get_by_role("region", name="No agent is ready yet")
    await expect(first).to_contain_text("Bob can add a key of scope organization")
    await expect(first.get_by_role("button")).to_have_text(["Set a key of your own"])
    await expect(first.get_by_text("There is no key.").first).to_be_hidden()
    server.team.found(role="admin")
    await page.reload()
    await first.get_by_role("button", name="Add a key for everybody").click()
    dialog = page.get_by_role("dialog", name="Set a secret")
    await expect(dialog.get_by_label("Who may use it")).to_have_value("organization")


async def test_member_shares_a_new_sandbox_and_gives_it_away(
    server: ScriptedServer, page: Page
) -> None:
    server.team.found(role="member")
    server.team.add(BOB, "Bob")
    await page.goto(f"{server.url}#login={TICKET}")
    dialog = await begin_sandbox(page)
    await dialog.get_by_role("button", name="More").click()
    await dialog.get_by_role("checkbox", name="Share it with Acme").check()
    await dialog.get_by_label("Name").fill("ours")
    await dialog.get_by_role("button", name="Create sandbox").click()
    await expect(page.get_by_role("main", name="Sandbox ours")).to_be_visible()
    assert server.created[0]["scope"] == "shared"
    made = next(iter(server.sandboxes))
    server.sandboxes[made]["state"] = "ready"
    await server.tell(f"sandbox:{made}", "sandbox.ready")
    await (await sandbox_menu(page)).get_by_role("button", name="Give").click()
    await page.get_by_role("dialog").get_by_label("To").select_option("Bob")
    await page.get_by_role("dialog").get_by_role("button", name="Give it").click()
    await expect(page.get_by_role("main", name="Sandbox ours")).to_contain_text("Bob’s")
    await sandbox_menu(page)
    await expect(page.get_by_role("button", name="Destroy")).to_have_count(0)


async def test_switch_leaves_nothing_of_the_former_organization_in_any_tab(
    server: ScriptedServer, page: Page
) -> None:
    team = server.team
    team.found()
    team.organizations.append(organization("org_beta", "Beta", role="member"))
    server.add_sandbox("betas")
    team.elsewhere, server.sandboxes = server.sandboxes, {}
    acmes = server.add_sandbox("acmes")
    server.add_terminal(acmes)
    await page.goto(f"{server.url}#login={TICKET}")
    other = await page.context.new_page()
    for tab in (other, page):
        await tab.goto(f"{server.url}#/sandboxes/{acmes}")
        await expect(tab.get_by_role("tab", name="bash")).to_be_visible()
        await expect(tab).to_have_title("acmes · Atoll")
    await page.get_by_role("button", name="Ann Ray").click()
    await page.get_by_role("button", name="Switch to Beta").click()
    await expect(page.get_by_text("You work in Beta now.")).to_be_visible()
    for tab in (page, other):
        await expect(tab.locator(".account-menu")).to_contain_text("Beta · Member")
        await expect(tab.locator(".row-words")).to_have_text(["betas"])
        await expect(tab).to_have_title("Atoll")
        await expect(tab).to_have_url(f"{server.url}#/")
        assert "acmes" not in await tab.locator("body").inner_text()
