"""Administration and search: ten thousand sandboxes, their ends, the audit log, and by phone."""

import json
import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.bounds import matrix
from tests.e2e.page.test_axe import AXE
from tests.e2e.page.ui.looks.test_axe_routes import DEVICES, surveyed
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

from .scripted_admin import ROWS
from .scripted_team import BOB

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LIVING = ROWS * 4 // 5
_FRAMES = """async view => {
  const step = view.scrollHeight / 90;
  const times = [];
  let before = performance.now();
  for (let n = 0; n < 90; n += 1) {
    view.scrollTop += step;
    await new Promise(requestAnimationFrame);
    times.push(performance.now() - before);
    before = performance.now();
  }
  return [times.sort((one, other) => one - other)[45], view.querySelectorAll('[role=row]').length];
}"""


async def every(server: ScriptedServer, page: Page, part: str = "sandboxes") -> None:
    """An administrator in front of a section."""
    server.team.found(role="admin")
    server.team.add(BOB, "Bob Ray")
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("button", name="Ann Ray Acme")).to_be_visible()
    await page.goto(f"{server.url}#/admin/{part}")


async def test_ten_thousand_sandboxes_scroll_and_one_of_them_is_ended(
    server: ScriptedServer, page: Page
) -> None:
    await every(server, page)
    table = page.get_by_role("table", name="Every sandbox")
    await expect(table).to_have_attribute("aria-rowcount", str(LIVING + 1))
    await expect(table.get_by_text("box-00000")).to_be_visible()
    median, rows = await page.locator(".every-view").evaluate(_FRAMES)
    # As many rows as are in view, however many there are; frames are not held up by them.
    assert rows < 60
    assert median < 250
    await expect(table.get_by_text("box-09998")).to_be_visible()
    await page.get_by_label("Part of the name").fill("box-00012")
    row = table.get_by_role("row").filter(has_text="box-00012")
    await expect(row).to_contain_text("Stopped")
    await page.get_by_label("Part of the name").fill("box-00001")
    await table.get_by_role("button", name="Stop box-00001").click()
    dialog = page.get_by_role("alertdialog", name="Stop Bob Ray’s sandbox box-00001?")
    await expect(dialog).to_contain_text("its owner can start it again")
    await dialog.get_by_role("button", name="Stop").click()
    await expect(table.get_by_role("row").filter(has_text="box-00001")).to_contain_text("Stopped")
    assert ("stop", "sb_1") in server.team.admin.asked
    server.team.admin.rows[1]["state"] = "failed"  # somebody else's doing, which is seen, too
    await expect(table.get_by_role("row").filter(has_text="box-00001")).to_contain_text("Failed")
    server.team.admin.away = True
    await expect(page.get_by_role("alert")).to_contain_text("The store is away.")
    server.team.admin.away = False
    await page.get_by_role("button", name="Try again").click()
    await expect(page.get_by_role("alert")).to_have_count(0)


async def test_overview_tells_what_runs_now_audit_is_exported_and_a_token_is_revoked(
    server: ScriptedServer, page: Page
) -> None:
    made = {
        "id": "tok_bob", "name": "ci", "owner": BOB, "capabilities": ["sandbox.read"],
        "sandbox_id": None, "parent": None, "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2999-01-01T00:00:00Z", "used_at": None, "account": BOB,
    }  # fmt: skip
    server.team.tokens.append(made)
    await every(server, page, "overview")
    # What runs now, and not the highest of the hour.
    figures = page.locator(".figures")
    await expect(figures).to_contain_text("Running sandboxes7")
    await expect(figures).to_contain_text("Agents at work2 of 5")
    await expect(figures).to_contain_text("Open sessions9")
    await page.goto(f"{server.url}#/admin/audit")
    entries = page.get_by_role("list", name="Audit entries").get_by_role("listitem")
    await expect(entries).to_have_count(100)
    await page.get_by_role("button", name="Look further back").click()
    await expect(entries).to_have_count(200)
    await page.get_by_label("Kind").select_option("Secrets")
    await expect(entries.first).to_contain_text("secret.set")
    await expect(entries).to_have_count(84)
    await entries.first.get_by_role("button", name=re.compile("Entry")).click()
    await expect(entries.first).to_contain_text("192.0.2.7")
    async with page.expect_download() as saved:
        await page.get_by_role("button", name="Export these").click()
    assert (await saved.value).suggested_filename.endswith(".jsonl")
    assert ("export", "kind=secret.") in server.team.admin.asked
    await page.goto(f"{server.url}#/admin/tokens")
    others = page.get_by_role("list", name="Tokens of others")
    await expect(others).to_contain_text("ci of Bob Ray")
    await others.get_by_role("button", name="Revoke ci of Bob Ray").click()
    dialog = page.get_by_role("alertdialog", name="Revoke ci of Bob Ray?")
    await expect(dialog).to_contain_text("cannot be undone")
    await dialog.get_by_role("button", name="Revoke").click()
    await expect(page.get_by_text("ci of Bob Ray was revoked.")).to_be_visible()
    await expect(page.get_by_text("Nobody else has a token.")).to_be_visible()
    assert server.team.tokens == []


async def test_search_is_in_the_palette_by_keyboard(server: ScriptedServer, page: Page) -> None:
    box = server.add_sandbox("webshop")
    server.team.admin.hits = [
        {**dict.fromkeys(("sandbox_id", "at")), "kind": "secret", "id": "s", "text": "",
         "title": "<b>LOGIN</b>"},
        {"kind": "branch", "id": box, "sandbox_id": box, "at": None, "text": "webshop",
         "title": "fix/login"},
    ]  # fmt: skip
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", name="What is to be done?")).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("login")
    options = page.get_by_role("dialog").get_by_role("option")
    await expect(options).to_have_text(["<b>LOGIN</b>Secret", "fix/loginBranch · webshop"])
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="webshop")).to_be_visible()
    # One person's home has an administration of its own.
    await page.keyboard.press("Escape")
    await page.goto(f"{server.url}#/admin/members")
    await expect(page.get_by_role("main", name="Administration")).to_contain_text(
        "atoll org create"
    )


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/")
@pytest.mark.parametrize("device", matrix(DEVICES, "phone"))
async def test_administration_holds_to_axe_and_works_by_phone(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    server.team.found(role="owner")
    server.team.add(BOB, "Bob Ray with a name that goes on and on")
    server.team.admin.rows[0]["name"] = "customer-dashboard-feature-export-invoices-as-spreadsheet"
    async with surveyed(browser, f"{server.url}#login={TICKET}", device) as found:
        page = found.page
        await expect(page.get_by_role("form", name="New task")).to_be_visible()
        parts = {
            "overview": page.get_by_text("Door traffic", exact=True),
            "sandboxes": page.get_by_text("box-00001"),
            "audit": page.get_by_text("thing-250"),
            "hosts": page.get_by_text("half of them within 310 ms").first,
            "extensions": page.get_by_text("Turn swapaccount on."),
        }
        # Only the list differs so much between the two that it is looked at on both.
        for part, shown in (
            parts.items() if device == "phone" else [("sandboxes", parts["sandboxes"])]
        ):
            await page.goto(f"{server.url}#/admin/{part}")
            await expect(shown).to_be_visible()
            await found.check(part)
        await page.goto(f"{server.url}#/admin/sandboxes")
        await page.get_by_role("button", name="Destroy box-00001").click()
        dialog = page.get_by_role("alertdialog")
        await expect(dialog).to_contain_text("Nobody can undo this.")
        await found.check("destroy")
        await dialog.get_by_role("button", name="Destroy").click()
        await expect(page.locator('[data-sandbox="sb_1"]')).to_contain_text("Destroying")
        asked = json.dumps(server.team.admin.asked)
        assert '["destroy", "sb_1"]' in asked


async def test_host_is_drained_after_a_question_and_takes_sandboxes_again(
    server: ScriptedServer, page: Page
) -> None:
    await every(server, page, "hosts")
    row = page.get_by_role("list", name="Hosts").get_by_role("listitem").filter(has_text="box-2")
    await expect(row).to_contain_text("sandboxes: 3 of 50 · cores: 4.5 of 24")
    await expect(row).to_contain_text("2 are stopped")
    await row.get_by_role("button", name="Drain box-2").click()
    dialog = page.get_by_role("alertdialog", name="Drain box-2?")
    await expect(dialog).to_contain_text("Those on it go on")
    await dialog.get_by_role("button", name="Drain").click()
    await expect(row).to_contain_text("drained")
    await row.get_by_role("button", name="End the draining of box-2").click()
    await expect(row).to_contain_text("takes sandboxes")
    assert server.team.admin.asked[-2:] == [("drain", "box-2"), ("undrain", "box-2")]
    measured = page.get_by_role("list", name="Starts in the last day").get_by_role("listitem")
    await expect(measured.nth(1)).to_contain_text("not tried for a while")
    await _key_that_was_changed_on_purpose_is_trusted_after_a_look_at_both(server, page)
    server.team.admin.runs_it = False
    await page.reload()
    await expect(page.get_by_text("shown to whoever runs this installation")).to_be_visible()


async def _key_that_was_changed_on_purpose_is_trusted_after_a_look_at_both(
    server: ScriptedServer, page: Page
) -> None:
    admin = server.team.admin
    machine = next(one for one in admin.machines if one["name"] == "box-2")
    hosts = page.get_by_role("list", name="Hosts").get_by_role("listitem")
    check = hosts.filter(has_text="box-2").get_by_role("button", name="Check key of box-2")
    await expect(page.get_by_role("button", name="Check key of local")).to_have_count(0)

    admin.shown_key = machine["fingerprint"] = "SHA256:pinned-before"
    await check.click()
    same = page.get_by_role("dialog", name="The key of box-2")
    await expect(same).to_contain_text("It shows the key that is pinned for it.")
    await page.keyboard.press("Escape")

    admin.shown_key = "SHA256:shown-today"
    await check.click()
    other = page.get_by_role("alertdialog", name="The key of box-2")
    await expect(other).to_contain_text("another key than the one that is pinned for it")
    for key in ("SHA256:pinned-before", "SHA256:shown-today"):
        await expect(other.get_by_text(key)).to_be_visible()
    await expect(other.get_by_role("button", name="Cancel")).to_be_focused()
    await other.get_by_role("button", name="Trust the shown key").click()
    await expect(page.get_by_text("box-2 is trusted by its new key.")).to_be_visible()
    assert admin.asked[-1] == ("trust", "box-2", "SHA256:shown-today")

    admin.shown_key = None
    await check.click()
    await expect(page.get_by_text("box-2 shows no key: try again")).to_be_visible()
