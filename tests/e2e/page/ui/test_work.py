"""What becomes of work on the page: how it stands, its review, merge, conflict and archive."""

import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.places import ROOT

from .open_page import learns, sandbox_menu
from .scripted import TICKET, ScriptedServer
from .test_review import CHANGES, REVIEWED, changed, diff_of

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

NO_FAULTS = """async () => {
  const found = await axe.run(document.querySelector('[role=dialog]') ?? document);
  return found.violations.map(({ id, nodes }) => `${id} ${nodes[0].html}`);
}"""
MERGED = {
    **{"outcome": "merged", "into": "main", "way": "squash", "commit": "c" * 40, "commits": 1},
    **{"previous": None, "files": [], "more": 0, "agent": None, "pushed": None, "detail": ""},
}
IN_CONFLICT = [
    *(" def f():", "+<<<<<<< HEAD", "     return 1", "+=======", "+    return 3"),
    "+>>>>>>> abc1234 (mend)",
]
SYNC = {
    **{"outcome": "conflict", "onto": "main", "commit": "d" * 40, "commits": 0},
    **{"files": ["src/a.py"], "more": 0, "stashed": False, "agent": "t_0001"},
}
REPOSITORY = {"repo_url": "https://example.com/o/shop", "branch": "mend", "from_branch": "main"}


async def shop(server: ScriptedServer, page: Page) -> str:
    """A logged-in person at home, and a sandbox whose agent is done; its id."""
    box = server.add_sandbox("shop", agent="codex", repos=[REPOSITORY])
    terminal = server.add_terminal(box, name="codex")
    await server.report(box, terminal.id, "done", turns=3, plus=9, minus=9)
    await server.become(box, "to_review")
    await page.goto(f"{server.url}#login={TICKET}")
    return box


async def check(page: Page) -> None:
    """axe finds nothing, also on a phone, and nothing lies beside its screen."""
    await page.evaluate((ROOT / "ui/node_modules/axe-core/axe.min.js").read_text())
    assert await page.evaluate(NO_FAULTS) == []
    before = page.viewport_size
    await page.set_viewport_size({"width": 390, "height": 844})
    assert await page.evaluate(NO_FAULTS) == []
    assert await page.evaluate("() => document.body.scrollWidth - window.innerWidth") <= 0
    assert before is not None
    await page.set_viewport_size(before)


async def test_one_word_says_how_work_stands_on_the_whole_page(
    server: ScriptedServer, page: Page
) -> None:
    box = await shop(server, page)
    row, card = page.locator(".row", has_text="shop"), page.locator(".home .card")
    for place in (row, card):
        await expect(place).to_contain_text("To review")
        await expect(place).to_contain_text("codex: 1 commit, +3 −2")
        await expect(place).not_to_contain_text("Done")
    await expect(page.locator(".home-sum")).to_have_text("1 to review")
    await server.report(box, "t_0001", "needs_you", question="Which one?", answer="terminal")
    await expect(row).to_contain_text("Needs you")
    await server.report(box, "t_0001", "done")
    merge = {"repo": 0, "into": "main", "way": "squash", "commit": "c" * 40, "at": ""}
    await server.become(box, "merged", merge=merge, plus=0, minus=0)
    for place in (row, card):
        await expect(place).to_contain_text("Merged")
        await expect(place).to_contain_text("codex: into main")
    await row.click()
    await expect(page.locator(".sandbox-head .standing")).to_have_text("Merged")


async def test_work_is_reviewed_merged_and_archived_by_the_one_act_of_its_head(
    server: ScriptedServer, page: Page
) -> None:
    box = await shop(server, page)
    server.sandboxes[box]["work"] |= {"uncommitted": 2}
    asked: list[dict[str, Any]] = []

    async def merge(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        if "now" not in asked[-1]:
            told = {"title": "x", "status": 409, "code": "agent_works", "detail": "codex works."}
            await route.fulfill(status=409, json=told)
            return
        into = {"repo": 0, "into": "main", "way": "squash", "commit": "c" * 40, "at": ""}
        await server.become(box, "merged", merge=into)
        await route.fulfill(json=MERGED)

    await page.route("**/merge", merge)
    await page.locator(".row", has_text="shop").click()
    head = page.locator(".sandbox-title")
    await head.get_by_role("button", name="Review +3 −2").click()
    await page.get_by_role("button", name="Reviewed").click()
    await learns(page, lambda: server.acts, [("review", {"mark": "m" * 64, "reviewed": True})])
    await expect(page.get_by_role("button", name="Reviewed")).to_have_attribute(
        "aria-pressed", "true"
    )
    await head.get_by_role("button", name="Merge").click()
    dialog = page.get_by_role("dialog", name="Merge shop")
    await expect(dialog.get_by_label("Into")).to_have_attribute("placeholder", "main")
    await dialog.get_by_role("radio", name="Rebase").click()
    await expect(dialog.get_by_label("Title of the commit")).to_be_hidden()
    await dialog.get_by_role("radio", name="Squash").click()
    await dialog.get_by_label("Title of the commit").fill("Mend the shop")
    await dialog.get_by_label("Push the result to its remote").check()
    await check(page)
    await dialog.get_by_role("button", name="Merge", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("codex works.")
    await dialog.get_by_role("button", name="Merge all the same").click()
    await expect(dialog.get_by_role("status")).to_contain_text("main is at cccccccccccc inside")
    await expect(dialog.get_by_text("atoll pull shop main --from main")).to_be_visible()
    order = {"repo": 0, "into": None, "way": "squash", "title": "Mend the shop"}
    assert asked[-1] == {**order, "commit": True, "push": True, "now": True}
    await check(page)
    await dialog.get_by_role("button", name="Close").last.click()
    await expect(head.locator(".standing")).to_have_text("Merged")
    await head.get_by_role("button", name="Archive").click()
    await expect(page.locator(".row")).to_have_count(0)
    await expect(page.locator(".home")).to_be_visible()


async def test_archived_work_is_found_and_revived_from_home_and_from_the_search(
    server: ScriptedServer, page: Page
) -> None:
    await shop(server, page)
    await page.locator(".row", has_text="shop").click()
    await (await sandbox_menu(page)).get_by_role("button", name="Archive").click()
    await expect(page.locator(".row")).to_have_count(0)
    await page.get_by_text("Archived 1").click()
    await check(page)
    await page.get_by_role("button", name="Revive shop").click()
    await expect(page.locator(".row")).to_have_count(1)
    await (await opened(page)).get_by_role("button", name="Archive").click()
    await expect(page.locator(".row")).to_have_count(0)
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox").fill("go to shop")
    await page.keyboard.press("Enter")
    await expect(page.locator(".sandbox-head .standing")).to_have_text("Archived")
    await page.keyboard.press("Control+k")
    await page.get_by_role("combobox").fill("revive shop")
    await page.keyboard.press("Enter")
    await expect(page.locator(".row")).to_have_count(1)
    assert [verb for verb, _ in server.acts] == ["archive", "revive", "archive", "revive"]


async def opened(page: Page) -> Locator:
    """The menu of the only sandbox in the rail."""
    await page.locator(".row").click()
    return await sandbox_menu(page)


async def show_conflict(server: ScriptedServer, page: Page) -> str:
    """Opens the changes of a sandbox whose rebase stopped at a conflict; its id."""
    box = await shop(server, page)

    async def changes(route: Route) -> None:
        url = urlsplit(route.request.url)
        if url.path.endswith("/changes") and "since" not in url.query:
            await route.fulfill(json={**CHANGES, "files": [changed("src/a.py", kind="unmerged")]})
        elif url.path.endswith("/diff"):
            diff = diff_of("src/a.py")
            hunk = {**diff["hunks"][0], "lines": IN_CONFLICT, "new_lines": 6}
            await route.fulfill(json={"truncated": False, "files": [{**diff, "hunks": [hunk]}]})
        elif url.path.endswith("/checkpoints"):
            await route.fulfill(json={"checkpoints": []})

    await page.route(REVIEWED, changes)
    conflict = {"repo": 0, "kind": "rebase", "onto": "main", "files": ["src/a.py"], "more": 0}
    await server.become(box, "in_conflict", conflict=conflict)
    row = page.locator(".row", has_text="shop")
    await expect(row).to_contain_text("In conflict")
    await expect(row).to_contain_text("codex: 1 file")
    await row.click()
    await page.locator(".sandbox-title").get_by_role("button", name="Resolve").click()
    return box


async def test_conflict_shows_its_sides_and_is_ended_from_the_changes(
    server: ScriptedServer, page: Page
) -> None:
    asked: list[dict[str, Any]] = []

    async def sync(route: Route) -> None:
        asked.append(json.loads(route.request.post_data or ""))
        await route.fulfill(json=SYNC)

    await page.route("**/sync", sync)
    box = await show_conflict(server, page)
    note = page.get_by_role("region", name="In conflict")
    await expect(note).to_contain_text("A rebase onto main stopped at a conflict. 1 file is")
    diff = page.get_by_role("group", name="Changes of src/a.py")
    await expect(diff.locator(".diff-ours strong")).to_have_text("main")
    await expect(diff.locator(".diff-theirs strong")).to_have_text("this work")
    await expect(diff.locator(".diff-row.diff-theirs")).to_contain_text("return 3")
    await expect(diff.locator(".diff-added")).to_have_count(0)
    await check(page)
    await note.get_by_role("button", name="Let codex resolve it").click()
    order = {"repo": 0, "now": False}
    await learns(page, lambda: asked, [{**order, "act": "look", "agent": True}])
    await note.get_by_role("button", name="Give the rebase up").click()
    await learns(page, lambda: asked[1:], [{**order, "act": "abort", "agent": False}])
    await note.get_by_role("button", name="In a terminal").click()
    await expect(page.get_by_role("tab", name="bash")).to_have_attribute("aria-selected", "true")
    await server.become(box, "to_review", conflict=None)
    await expect(page.locator(".sandbox-title .standing")).to_have_text("To review")


async def tops(page: Page) -> dict[str, bool]:
    """Whether the lines of the second side of a conflict stand beside the first, or below it."""
    left = await page.locator(".diff-row.diff-ours").bounding_box()
    right = await page.locator(".diff-row.diff-theirs").bounding_box()
    assert left is not None
    assert right is not None
    return {
        "beside": left["y"] == right["y"] and left["x"] + left["width"] <= right["x"] + 1,
        "below": left["y"] + left["height"] <= right["y"],
    }


async def test_sides_of_a_conflict_stand_beside_each_other_where_there_is_room(
    server: ScriptedServer, page: Page
) -> None:
    await page.set_viewport_size({"width": 1279, "height": 800})
    await show_conflict(server, page)
    pairs = page.locator(".diff-pair")
    await expect(page.locator(".diff-row.diff-theirs")).to_contain_text("return 3")
    assert await tops(page) == {"beside": False, "below": True}
    await page.set_viewport_size({"width": 1280, "height": 800})
    await expect(pairs).to_have_count(2)
    await expect(pairs.first).to_contain_text("mainHEADthis workabc1234 (mend)")
    assert await tops(page) == {"beside": True, "below": False}
    await check(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect(pairs).to_have_count(0)
    assert await tops(page) == {"beside": False, "below": True}
    await page.set_viewport_size({"width": 1280, "height": 800})
    await page.get_by_label("Side by side").uncheck()
    await expect(pairs).to_have_count(0)


async def test_board_moves_work_by_drag_and_by_keyboard(server: ScriptedServer, page: Page) -> None:
    await shop(server, page)
    await page.get_by_role("radio", name="Board").click()
    board = page.get_by_role("group", name="Board")
    columns = {name: board.get_by_role("region", name=name) for name in ("To review", "Reviewed")}
    card = columns["To review"].get_by_role("listitem")
    await expect(card).to_contain_text("codex: 1 commit, +3 −2")
    await card.drag_to(columns["Reviewed"])
    await learns(page, lambda: server.acts, [("review", {"mark": "m" * 64, "reviewed": True})])
    moved = columns["Reviewed"].get_by_role("listitem")
    await expect(moved).to_contain_text("shop")
    await moved.drag_to(board.get_by_role("region", name="Working"))
    await expect(moved).to_be_visible()
    await moved.drag_to(board.get_by_role("region", name="Merged"))
    await expect(page.get_by_role("dialog", name="Merge shop")).to_be_visible()
    await page.keyboard.press("Escape")
    await moved.get_by_role("button", name="Move shop").press("Enter")
    await page.get_by_role("button", name="Not reviewed yet").press("Enter")
    await expect(card).to_contain_text("shop")
    await check(page)
    await page.reload()
    await expect(card).to_be_visible()


async def test_rail_is_grouped_and_its_rows_have_keys_and_marks_of_what_is_new(
    server: ScriptedServer, page: Page
) -> None:
    server.add_sandbox("scratch")
    await shop(server, page)
    titles = page.locator(".rail-title")
    await expect(titles).to_have_text(["To review 1", "Without a task 1"])
    row = page.locator(".row", has_text="shop")
    await expect(row.locator(".row-unread")).to_be_visible()
    await page.locator(".home h1").click()
    await page.keyboard.press("1")
    await expect(page.get_by_role("heading", level=1, name="shop")).to_be_visible()
    await page.locator(".sandbox-title h1").click()
    await page.locator(".row", has_text="scratch").focus()
    await page.keyboard.press("2")
    await expect(page.get_by_role("heading", level=1, name="scratch")).to_be_visible()
    await expect(row.locator(".row-unread")).to_have_count(0)
    await page.get_by_role("button", name="By state").click()
    await expect(titles).to_have_text(["o/shop 1", "Without a repository 1"])
    await check(page)
    await page.reload()
    await expect(titles).to_have_text(["o/shop 1", "Without a repository 1"])
