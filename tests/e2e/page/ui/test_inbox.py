"""What agents do, and the inbox, by keyboard alone; a page that is notified, and one cut off."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.e2e.page.ui.open_page import visit

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ALLOW = {"id": "yes", "label": "Allow", "effect": "allow"}
DENY = {"id": "no", "label": "Deny", "effect": "deny"}
QUESTION: dict[str, Any] = {
    "question": "Allow Bash? npm publish",
    "card": "c1",
    "answer": "protocol",
    "options": [ALLOW, DENY],
    "mode": "machine",
}
DATA = re.compile(r"^data:image/png")
#: Whether a notice is there, on the page beside the rail, and over nothing that one presses.
LIES_FREE = """() => {
  const box = (part) => part.getBoundingClientRect();
  const [notice, stage] = ['.notice', '.stage'].map((part) => document.querySelector(part));
  if (notice === null) return false;
  const own = box(notice);
  const meets = (other) => own.left < other.right && other.left < own.right
    && own.top < other.bottom && other.top < own.bottom;
  const acts = [...document.querySelectorAll('a[href], button, input, textarea, h1')];
  return own.left >= box(stage).left && own.right <= box(stage).right + 1
    && acts.every((act) => notice.contains(act) || !act.checkVisibility() || !meets(box(act)));
}"""
#: What the page shows on the desktop, kept for the test.
NOTES = """
  window.notes = [];
  class Note { constructor(title, options) { window.notes.push([title, options.body]); } }
  Note.permission = 'granted';
  Note.requestPermission = async () => 'granted';
  window.Notification = Note;
  delete Navigator.prototype.serviceWorker;
"""


async def test_who_needs_their_person_comes_first_and_is_answered_by_keyboard(
    server: ScriptedServer, page: Page
) -> None:
    asks, works = server.add_sandbox("asks"), server.add_sandbox("works")
    server.add_terminal(asks)
    terminal = server.add_terminal(asks, name="codex")
    await page.goto(f"{server.url}#login={TICKET}")
    rows = page.locator(".row")
    await expect(rows.first).to_contain_text("asks")
    await server.report(works, "t_9", "needs_you", **QUESTION)
    await expect(rows.first).to_contain_text("works")
    await expect(rows.first).to_contain_text("Needs you")
    await expect(page).to_have_title("(1) Atoll")
    await expect(page.locator('link[rel="icon"]')).to_have_attribute("href", DATA)
    await server.report(asks, terminal.id, "needs_you", question="Which branch?", answer="terminal")

    await page.keyboard.press("i")
    items = page.get_by_role("list", name="Waiting for you").get_by_role("listitem")
    await expect(items).to_have_count(2)
    await expect(items.first).to_contain_text("Allow Bash? npm publish")
    await expect(items.first).to_have_attribute("aria-current", "true")
    await page.keyboard.press("j")
    await expect(items.nth(1)).to_have_attribute("aria-current", "true")
    await page.keyboard.press("k")
    await page.keyboard.press("y")  # too soon: nobody saw what it would answer
    await page.wait_for_function(
        "() => performance.now() > (window.seen ??= performance.now()) + 700"
    )
    assert server.answers == []
    async with page.expect_response("**/answer"):
        await page.keyboard.press("y")
    assert server.answers == [("q_t_9", {"option": "yes", "shown": "a" * 64})]
    await expect(items).to_have_count(1)

    await server.report(works, "t_9", "working", on="npm publish", mode="machine")
    await expect(items).to_have_count(1)
    await expect(rows.filter(has_text="works")).to_contain_text("codex: npm publish")
    await page.wait_for_function(
        "() => performance.now() > (window.later ??= performance.now()) + 700"
    )
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tab", name="codex")).to_have_attribute("aria-selected", "true")
    await server.report(asks, terminal.id, "done", plus=12, minus=3)
    await expect(rows.filter(has_text="asks")).to_contain_text("+12 −3")
    await expect(page).to_have_title("asks · Atoll")


async def test_sandbox_opens_at_the_agent_that_waits_longest_and_nobody_is_led_away(
    server: ScriptedServer, page: Page
) -> None:
    box = server.add_sandbox("box")
    server.add_sandbox("other")
    _, second, third = (server.add_terminal(box, name=name) for name in ("sh", "b", "c"))
    await page.goto(f"{server.url}#login={TICKET}")
    await server.report(box, third.id, "needs_you", question="?", answer="terminal")
    await server.report(box, second.id, "needs_you", question="?", answer="terminal")
    row = page.locator(".row", has_text="box")
    await expect(row).to_contain_text("Needs you")
    await row.click()
    await expect(page.get_by_role("tab", name="c", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    for one in (second, third):
        await server.report(box, one.id, "working")
    await expect(row).to_contain_text("Working")
    await page.locator(".row", has_text="other").click()
    await row.click()
    shell = page.get_by_role("tab", name="sh", exact=True)
    await expect(shell).to_have_attribute("aria-selected", "true")
    await server.report(box, second.id, "needs_you", question="?", answer="terminal")
    await expect(page).to_have_title("(1) box · Atoll")
    await expect(shell).to_have_attribute("aria-selected", "true")


async def test_person_is_notified_of_what_is_not_on_screen_and_of_a_lost_server(
    server: ScriptedServer, page: Page
) -> None:
    shown, other = server.add_sandbox("shown"), server.add_sandbox("other")
    await page.add_init_script(NOTES)
    await page.goto(f"{server.url}#login={TICKET}")
    await visit(page, "Notifications")
    await expect(page.get_by_role("heading", name="Notifications")).to_be_visible()
    await page.get_by_label("Notify me on this desktop").check()
    await page.locator(".row", has_text="shown").click()
    await page.bring_to_front()
    for sandbox in (shown, other):
        await server.report(sandbox, "t_1", "needs_you", question="rm -rf / ?", answer="terminal")
    await expect(page).to_have_title("(2) shown · Atoll")
    await server.report(other, "t_1", "done")
    await page.wait_for_function("() => window.notes.length === 2")
    assert await page.evaluate("window.notes") == [
        ["other", "An agent needs you."],
        ["other", "An agent is done."],
    ]
    await page.context.set_offline(True)
    await expect(page.get_by_text("Offline: what you see may be old")).to_be_visible(timeout=5000)
    server.sandboxes[other]["agents"] = []
    await page.context.set_offline(False)
    await expect(page.get_by_text("Offline: what you see may be old")).to_have_count(0)


def host_item(server: ScriptedServer) -> dict[str, Any]:
    """A host that a sandbox waits for, as the inbox has it."""
    sandbox = server.add_sandbox("box")
    return {
        "id": "ap_1", "kind": "host", "sandbox_id": sandbox, "sandbox_name": "box", "agent": None,
        "agent_id": None, "since": server.sandboxes[sandbox]["created_at"],
        "lines": ["evil.example, port 443"], "options": [ALLOW, DENY], "words": False,
        "by": "person", "shown": "a" * 64, "times": 1, "place": None, "author": None,
    }  # fmt: skip


async def test_press_decides_by_the_button_it_began_on_though_the_list_grew_meanwhile(
    server: ScriptedServer, page: Page
) -> None:
    item = host_item(server)
    items = [item]

    async def inbox(route: Route) -> None:
        await route.fulfill(json={"items": items})

    await page.route("**/v1/inbox", inbox)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".row")).to_have_count(1)
    await page.goto(f"{server.url}#/inbox")
    deny = page.get_by_role("listitem").filter(has_text="port 443").get_by_role("button").nth(1)
    aimed = await deny.bounding_box()
    assert aimed is not None
    middle = aimed["x"] + aimed["width"] / 2, aimed["y"] + aimed["height"] / 2
    await page.mouse.move(*middle)
    await page.mouse.down()
    # What came later asks for more, and stands first.
    items.insert(0, {**item, "id": "ap_0", "lines": ["one line"] * 2 + ["more.example, port 80"]})
    await server.report(item["sandbox_id"], "t_1", "needs_you", **QUESTION)
    await expect(page.get_by_role("listitem").filter(has_text="more.example")).to_be_visible()
    assert await deny.bounding_box() != aimed
    async with page.expect_response("**/v1/inbox/*/answer"):
        await page.mouse.up()
    assert server.answers == [("ap_1", {"option": "no", "shown": "a" * 64})]
    await page.mouse.down()
    await page.mouse.move(5, 5)
    await page.mouse.up()
    assert len(server.answers) == 1, "who leaves a button presses none"


async def test_host_that_was_allowed_is_taken_back_by_one_key(
    server: ScriptedServer, page: Page
) -> None:
    items, revoked = [host_item(server)], []

    async def inbox(route: Route) -> None:
        await route.fulfill(json={"items": items})

    async def revoke(route: Route) -> None:
        revoked.append(route.request.url)
        await route.fulfill(json={"approval_id": "ap_1", "verdict": "revoked"})

    await page.route("**/v1/inbox", inbox)
    await page.route("**/v1/approvals/*/revoke", revoke)
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.locator(".row")).to_have_count(1)
    await page.goto(f"{server.url}#/inbox")
    await expect(page.get_by_text("evil.example, port 443")).to_be_visible()
    await page.wait_for_function(
        "() => performance.now() > (window.seen ??= performance.now()) + 700"
    )
    items.clear()
    await page.keyboard.press("y")
    await expect(page.get_by_role("button", name="Undo")).to_be_visible()
    await page.wait_for_function(LIES_FREE)
    await page.keyboard.press("b")
    await expect(page.locator(".rail")).to_be_hidden()
    await page.wait_for_function(LIES_FREE)
    await page.keyboard.press("u")
    await expect(page.get_by_text("Revoked.")).to_be_visible()
    assert [one.rpartition("/v1/")[2] for one in revoked] == ["approvals/ap_1/revoke"]
    assert server.answers == [("ap_1", {"option": "yes", "shown": "a" * 64})]
    await expect(page.get_by_role("button", name="Undo")).to_have_count(0)


async def test_mention_is_dismissed_by_a_key_and_by_opening_it(
    server: ScriptedServer, page: Page
) -> None:
    board = server.boards.add("Plan").view["id"]
    place = {"dashboard_id": board, "dashboard_name": "Plan", "item_id": "itm_0123456789abcdef"}
    item: dict[str, Any] = {
        "sandbox_id": None, "sandbox_name": None, "agent": None, "agent_id": None, "times": 1,
        "place": place, "author": "Bob", "since": "2026-01-01T00:00:00Z", "options": [],
        "words": False, "by": "person", "shown": "a" * 64,
    }  # fmt: skip
    text = "@Ann <img src=x onerror=alert(1)>"
    items = [
        {**item, "id": "mnt_1", "kind": "mention", "lines": [text]},
        {**item, "id": "mnt_2", "kind": "todo", "lines": ["Fix the login"]},
    ]

    async def inbox(route: Route) -> None:
        if route.request.method == "DELETE":
            gone = route.request.url.rpartition("/")[2]
            items[:] = [one for one in items if one["id"] != gone]
            await route.fulfill(status=204)
        else:
            await route.fulfill(json={"items": items})

    await page.route("**/v1/inbox", inbox)
    await page.route("**/v1/inbox/*", inbox)
    await page.goto(f"{server.url}#login={TICKET}")
    await page.wait_for_function("() => document.title.startsWith('(2)')")
    await page.goto(f"{server.url}#/inbox")
    listed = page.get_by_role("list", name="Waiting for you").get_by_role("listitem")
    await expect(listed.first).to_contain_text("Bob mentions you")
    await expect(listed.first).to_contain_text(text)
    await page.wait_for_function(
        "() => performance.now() > (window.one ??= performance.now()) + 700"
    )
    async with page.expect_response("**/v1/inbox/mnt_1"):
        await page.keyboard.press("n")
    await expect(listed).to_have_count(1)
    await expect(listed.first).to_contain_text("Bob has a todo for you")
    await page.wait_for_function(
        "() => performance.now() > (window.two ??= performance.now()) + 700"
    )
    async with page.expect_response("**/v1/inbox/mnt_2"):
        await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(rf"#/dashboards/{board}/itm_0123456789abcdef$"))
    await expect(page.get_by_text("Plan").first).to_be_visible()
    assert items == []
