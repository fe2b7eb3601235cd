"""The page's view of changes, against scripted answers."""

import base64
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.e2e.page.ui.open_page import OpenPage, tab_of
from tests.e2e.page.ui.scripted import REPOSITORY
from tests.e2e.page.ui.team.scripted_team import BOB

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MANY = 5000
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
REVIEWED = re.compile(r"/v1/sandboxes/\w+/(changes|diff|checkpoints)\?")

#: Whether the end of the widest line lies in the view of the diff.
END_IS_SEEN = """box => {
  const [code] = [...box.querySelectorAll('.diff-added code')];
  const [line, view] = [code.getBoundingClientRect(), box.getBoundingClientRect()];
  return line.right <= view.right && line.right > view.left;
}"""


def changed(path: str, **more: Any) -> dict[str, Any]:
    return {
        "path": path, "kind": "modified", "old_path": None, "old_mode": "100644",
        "new_mode": "100644", "additions": 1, "deletions": 1, "binary": False,
        "uncommitted": True, "untracked": False, "digest": "d1", "old_size": None, "new_size": None,
        **more,
    }  # fmt: skip


FILES = [
    changed("src/a.py", digest="d2"),
    changed("src/evil\u202e\x1b[2J.py", kind="added", untracked=True, additions=MANY, deletions=0),
    changed("z.png", binary=True, additions=0, deletions=0, old_size=68, new_size=2000),
]
CHANGES = {
    "branch": "fix", "head": "a" * 40, "base": "b" * 40, "commits": 1, "additions": MANY + 1,
    "deletions": 1, "total": 3, "digest": "c1", "files": FILES,
}  # fmt: skip


def diff_of(path: str) -> dict[str, Any]:
    if path == "src/a.py":
        lines, counts = [" def f():", "-    return 1", "+    return 2"], (2, 2)
    else:
        lines, counts = [f"+line {n}\x1b[31m" for n in range(1, MANY + 1)], (0, MANY)
    hunk = {
        "old_start": 1, "old_lines": counts[0], "new_start": 1, "new_lines": counts[1],
        "heading": "", "lines": lines,
    }  # fmt: skip
    modes = {"old_path": None, "old_mode": None, "new_mode": None}
    return {"path": path, **modes, "binary": False, "truncated": False, "hunks": [hunk]}


async def answer(route: Route) -> None:
    url = urlsplit(route.request.url)
    query = parse_qs(url.query)
    if url.path.endswith("/changes"):
        if "since" in query:
            return  # nothing changes
        body: dict[str, Any] = CHANGES
    elif url.path.endswith("/diff"):
        body = {"truncated": False, "files": [diff_of(query["path"][0])]}
    else:
        body = {"checkpoints": []}
    await route.fulfill(status=200, content_type="application/json", body=json.dumps(body))


async def test_changes_are_read_commented_and_sent_by_keyboard(open_page: OpenPage) -> None:
    page = open_page.page
    await page.route(REVIEWED, answer)
    await is_commented_and_sent(open_page)
    await is_discarded_and_committed(page)
    await stays_small_with_many_lines(page)
    await shows_an_image_twice(page)
    await page.locator(".review").press("k")
    await page.reload()
    await expect(page.locator(".review-seen")).to_have_count(1)
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect(page.get_by_role("button", name="Comment on line 2")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def agents(route: Route) -> None:
    """One agent that takes prompts."""
    agent = {"id": "t_1", "agent": "codex", "mode": "tui", "agent_state": "running"}
    await route.fulfill(json={"agents": [agent]})


async def is_commented_and_sent(at: OpenPage) -> None:
    """A comment is on the server, and goes to the agent."""
    page = at.page
    await page.route("**/v1/sandboxes/*/agents", agents)
    await page.get_by_role("tab", name="Changes").click()
    diff = page.get_by_role("group", name="Changes of src/a.py")
    await expect(diff).to_contain_text("return 2")
    await expect(diff.locator(".code-keyword").first).to_have_text("def")
    # A line, a comment on it, and the prompt that an agent gets.
    for key in ("u", "n", "ArrowDown", "c"):
        await page.keyboard.press(key)
    await page.get_by_role("textbox", name="Comment").fill("Why two?")
    await page.keyboard.press("Control+Enter")
    said = diff.locator(".diff-thread")
    await expect(said).to_contain_text("Why two?")
    # It is there after a reload, can be reworded, and goes with a key.
    await page.reload()
    await diff.get_by_role("button", name="Edit").click()
    await page.get_by_role("textbox", name="Comment").fill("Why 2?")
    await page.keyboard.press("Control+Enter")
    await expect(said).to_contain_text("Why 2? (edited)")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_contain_text("next and previous file")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Send to codex")).to_be_visible()
    await page.locator(".review").press("Control+Enter")
    await expect(said).to_contain_text("Sent to codex by you")
    await expect(page.get_by_role("button", name="Send to codex")).to_have_count(0)
    assert at.server.review.sent == [{"agent_id": "t_1", "threads": ["thr_1"]}]
    (thread,) = at.server.review.threads.values()
    assert (thread["line"], thread["lines"], thread["side"]) == (2, ["    return 2"], "new")


async def is_discarded_and_committed(page: Page) -> None:
    """A hunk is discarded and a message committed, each after it was asked for."""
    done: list[tuple[str, Any]] = []

    async def act(route: Route) -> None:
        done.append((urlsplit(route.request.url).path, json.loads(route.request.post_data or "")))
        body = json.dumps({"saved": 1, "commit": "c" * 40})
        await route.fulfill(status=200, content_type="application/json", body=body)

    await page.route(re.compile("/(commit|discard)$"), act)
    for key in ("n", "x"):
        await page.locator(".review").press(key)
    await page.get_by_role("alertdialog").get_by_role("button", name="Discard").click()
    await page.get_by_role("button", name="Commit…").click()
    await page.get_by_role("textbox", name="Message").fill("Mend it")
    await page.get_by_role("dialog").get_by_role("button", name="Commit", exact=True).click()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    (discard, hunk), (commit, message) = done
    assert discard.endswith("/changes/discard") and hunk["digest"] == "d2"
    assert hunk["hunk"] == {
        "old_start": 1, "old_lines": 2, "new_start": 1, "new_lines": 2, "context": 3,
    }  # fmt: skip
    assert commit.endswith("/commit") and message == {"repo": 0, "message": "Mend it"}


async def stays_small_with_many_lines(page: Page) -> None:
    """Only lines on the screen are there, and nothing hidden acts."""
    await page.locator(".review").press("v")
    await expect(page.locator(".review-seen")).to_have_count(1)
    await page.locator(".review").press("j")
    long = page.get_by_role("group", name="Changes of src/evil\\u{202e}\\u{1b}[2J.py")
    await expect(long).to_contain_text("line 1\\u{1b}[31m")
    assert await long.locator(".diff-row").count() < 200
    await long.evaluate("box => { box.scrollTop = box.scrollHeight }")
    await expect(long).to_contain_text(f"line {MANY}")


async def shows_an_image_twice(page: Page) -> None:
    """Before and after."""
    sides: list[str] = []

    async def image(route: Route) -> None:
        sides.append(parse_qs(urlsplit(route.request.url).query).get("commit", [""])[0])
        await route.fulfill(status=200, content_type="image/png", body=PIXEL)

    await page.route(re.compile("/changes/image"), image)
    await page.locator(".review").press("j")
    await expect(page.locator(".review-images figcaption")).to_have_text(
        ["Before · 1 × 1 · 68 bytes", "After · 1 × 1 · 2.0 KiB"]
    )
    assert sorted(sides) == ["", "b" * 40]


async def test_second_person_sees_a_remark_at_once_and_settles_it(
    open_page: OpenPage, browser: Browser
) -> None:
    server, page = open_page.server, open_page.page
    server.team.found()
    server.team.add(BOB, "Bob Ray")
    server.tickets.add("ticket-of-bob")
    await page.route(REVIEWED, answer)
    await page.reload()
    await page.get_by_role("tab", name="Changes").click()
    ann = page.get_by_role("group", name="Changes of src/a.py")
    await expect(ann).to_contain_text("return 2")
    async with tab_of(browser) as second:
        bob = await begin_second(open_page, second)
        await remark_is_answered(ann, bob)
        await is_settled_and_opened_again(ann, bob)
        await loses_its_line(open_page, ann)
        await keeps_words_that_were_not_saved(open_page, bob)


async def begin_second(there: OpenPage, page: Page) -> Locator:
    """Bob looks at the same file; he is called so by cookie, and by what he reads of himself."""
    server = there.server
    server.review.people = {f"cookie-{len(server.cookies)}": (BOB, "Bob Ray")}
    me = {**server.team.whoami(), "id": BOB, "name": "Bob Ray"}

    async def whoami(route: Route) -> None:
        await route.fulfill(json=me)

    await page.route("**/auth/me", whoami)
    await page.route(REVIEWED, answer)
    await page.goto(f"{server.url}#login=ticket-of-bob")
    await expect(page.locator(".row").first).to_be_visible()
    await page.goto(f"{server.url}#/sandboxes/{there.sandbox}/changes")
    diff = page.get_by_role("group", name="Changes of src/a.py")
    await expect(diff).to_contain_text("return 2")
    return diff


async def remark_is_answered(ann: Locator, bob: Locator) -> None:
    """Each has the other's words by the event alone, which the page waits for and never asks after;
    and acts on their own alone."""
    await write(ann, "Comment on line 2", "Why two?")
    await expect(bob.locator(".diff-thread")).to_contain_text("Ann Ray Why two?")
    await expect(bob.get_by_role("button", name="Edit")).to_have_count(0)
    await write(bob, "Reply", "Since one\nis odd.")
    await expect(ann.locator(".diff-thread")).to_contain_text("Bob Ray Since one")
    await expect(ann.get_by_role("button", name="Edit")).to_have_count(1)


async def is_settled_and_opened_again(ann: Locator, bob: Locator) -> None:
    """Who settled a thread stands there, and whoever works there opens it again."""
    await bob.get_by_role("button", name="Resolve").click()
    thread = ann.locator(".diff-thread")
    await expect(thread).to_contain_text("Resolved by Bob Ray")
    bar = ann.page.get_by_role("region", name="Open comments")
    await expect(bar).to_have_count(0)
    await ann.get_by_role("button", name="Open again").click()
    await expect(bob.locator(".diff-thread")).to_contain_text("Since one")
    await expect(bar).to_contain_text("1 comment")


async def loses_its_line(there: OpenPage, ann: Locator) -> None:
    """A thread stands first where its lines are gone, with what they said."""
    there.server.review.moved["thr_1"] = None
    await there.page.reload()
    await expect(ann.locator(".diff-lost")).to_have_text("Line 2 is not shown any more: return 2")
    await expect(ann.locator(".diff-thread")).to_contain_text("Why two?")


async def keeps_words_that_were_not_saved(there: OpenPage, bob: Locator) -> None:
    """A remark that the server did not take stays in its field, and where it is opened again."""
    page, review = bob.page, there.server.review
    review.broken = True
    await write(bob, "Comment on line 1", "Name it.")
    await expect(page.locator(".notice").last).to_contain_text("The comment was not added")
    field = page.get_by_role("textbox", name="Comment")
    await expect(field).to_have_value("Name it.")
    await page.locator(".review-files button").nth(1).click()
    await expect(field).to_have_count(0)
    await page.locator(".review-files button").first.click()
    await bob.get_by_role("button", name="Comment on line 1").first.click()
    await expect(field).to_have_value("Name it.")
    review.broken = False
    await field.press("Control+Enter")
    await expect(bob.locator(".diff-thread").last).to_contain_text("Name it.")
    assert [one["remarks"][0]["text"] for one in review.threads.values()] == [
        "Why two?",
        "Name it.",
    ]


async def write(diff: Locator, where: str, words: str) -> None:
    """Write and save a remark that a button begins."""
    await diff.get_by_role("button", name=where).first.click()
    field = diff.page.get_by_role("textbox", name="Comment")
    await field.fill(words)
    await field.press("Control+Enter")


async def test_file_without_lines_says_why_and_old_numbers_take_comments(
    open_page: OpenPage,
) -> None:
    page = open_page.page

    async def nothing(route: Route) -> None:
        query = parse_qs(urlsplit(route.request.url).query)
        files = [] if query.get("whitespace") == ["false"] else [diff_of("src/a.py")]
        await route.fulfill(json={"truncated": False, "files": files})

    await page.route(REVIEWED, answer)
    await page.route(re.compile(r"/v1/sandboxes/\w+/diff\?"), nothing)
    await page.get_by_role("tab", name="Changes").click()
    # Side by side, the number of the old side belongs to the same unchanged line.
    diff = page.get_by_role("group", name="Changes of src/a.py")
    await diff.get_by_role("button", name="Comment on line 1").first.click()
    await expect(page.get_by_role("textbox", name="Comment")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.get_by_label("Ignore blanks").check()
    await expect(page.locator(".review-diff .review-note")).to_have_text("Only blanks differ.")


async def test_long_lines_side_by_side_are_scrolled_to_their_ends(open_page: OpenPage) -> None:
    page = open_page.page
    wide = diff_of("src/a.py")
    wide["hunks"][0]["lines"][2] = "+\treturn " + "漢字 of many letters, " * 20 + "the end"

    async def lines(route: Route) -> None:
        await route.fulfill(json={"truncated": False, "files": [wide]})

    await page.route(REVIEWED, answer)
    await page.route(re.compile(r"/v1/sandboxes/\w+/diff\?"), lines)
    await page.get_by_role("tab", name="Changes").click()
    diff = page.get_by_role("group", name="Changes of src/a.py")
    await page.get_by_label("Side by side").check()
    assert not await diff.evaluate(END_IS_SEEN)
    await diff.evaluate("box => box.scrollTo(1e6, 0)")
    await page.wait_for_function(f"box => ({END_IS_SEEN})(box)", arg=await diff.element_handle())
    # Both halves stay where they are.
    halves = "all => all.map(one => one.getBoundingClientRect().left)"
    left, right = await diff.locator(".diff-pair:nth-child(2) > .diff-row").evaluate_all(halves)
    view = await diff.bounding_box()
    assert view is not None
    assert abs(left - view["x"]) < 2
    assert abs(right - view["x"] - view["width"] / 2) < 20
    await page.get_by_label("Side by side").uncheck()
    assert await diff.locator(".diff-removed .diff-number").all_inner_texts() == ["2", ""]


async def test_changes_and_lines_are_read_again_once_the_server_answers(
    open_page: OpenPage,
) -> None:
    page = open_page.page
    failed: set[str] = set()

    async def once_lost(route: Route) -> None:
        url = urlsplit(route.request.url)
        waits = "since" in parse_qs(url.query)
        kind = url.path.rpartition("/")[2]
        if kind not in failed and (kind == "diff" or waits):
            failed.add(kind)
            await route.abort()
        else:
            await answer(route)

    await page.route(REVIEWED, once_lost)
    await page.get_by_role("tab", name="Changes").click()
    alerts = page.locator(".review").get_by_role("alert")
    await expect(alerts).to_have_count(2)
    await expect(page.get_by_role("group", name="Changes of src/a.py")).to_be_visible()
    await expect(alerts).to_have_count(0)


PULL_URL = "https://forge.example/o/r/pulls/7"
PULL = {
    "number": 7, "url": PULL_URL, "title": "Fix <b>it</b>",
    "state": "open", "draft": False, "branch": "fix", "base": "main", "commit": "a" * 40,
    "existed": False,
}  # fmt: skip
COMMENT = {
    "id": "line-5", "author": "ada", "text": "Why <i>two</i>?", "at": "2026-01-02T00:00:00Z",
    "path": "src/a.py", "line": 2,
}  # fmt: skip
FORGE = re.compile(r"/v1/sandboxes/\w+/(pull-requests|forge-branches)")


class Forge:
    """A forge that has no token at first, and then no pull request until one is opened."""

    def __init__(self) -> None:
        self.token = self.opened = False
        self.sent: dict[str, Any] = {}

    async def answer(self, route: Route) -> None:
        path = urlsplit(route.request.url).path
        status, body = 200, dict[str, Any](pull_requests=[PULL] if self.opened else [])
        if not self.token:
            status, body = 404, {"title": "x", "code": "no_forge", "detail": "Set one first."}
        elif route.request.method == "POST":
            self.opened, self.sent = True, json.loads(route.request.post_data or "")
            status, body = 201, PULL
        elif path.endswith("/7"):
            checks = [{"name": "tests", "state": "failed"}]
            body = {**PULL, "checks": checks, "comments": [COMMENT]}
        elif path.endswith("/forge-branches"):
            body = {"names": ["main", "fix"]}
        await route.fulfill(status=status, content_type="application/json", body=json.dumps(body))


async def test_pull_request_is_opened_and_its_comment_becomes_one_for_the_agent(
    open_page: OpenPage,
) -> None:
    page, forge = open_page.page, Forge()
    place = {"repo_url": "https://forge.example/o/r", "branch": "fix"}
    open_page.server.sandboxes[open_page.sandbox]["repos"] = [{**REPOSITORY, **place}]
    await page.route(REVIEWED, answer)
    await page.route(FORGE, forge.answer)
    await page.reload()
    await page.get_by_role("tab", name="Changes").click()
    await page.get_by_role("button", name="Pull request…").click()
    dialog = page.get_by_role("dialog", name="Pull request of fix")
    await expect(dialog.get_by_role("alert")).to_contain_text("No token for this forge yet")
    forge.token = True
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Pull request…").click()
    await dialog.get_by_label("Title").fill("Fix it")
    await dialog.get_by_label("Into").select_option("main")
    await dialog.get_by_role("button", name="Push and open").click()
    link = dialog.get_by_role("link", name="#7 Fix <b>it</b>")
    await expect(link).to_have_attribute("href", PULL_URL)
    assert forge.sent == {
        "title": "Fix it", "text": "", "repo": 0, "branch": "fix", "base": "main", "draft": False,
    }  # fmt: skip
    await expect(dialog.get_by_role("list", name="Checks")).to_contain_text("failed tests")
    await expect(dialog.get_by_text("Why <i>two</i>?")).to_be_visible()
    if folder := os.environ.get("ATOLL_TEST_SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / "pull-request.png")
    await dialog.get_by_role("button", name="To the agent").click()
    await page.keyboard.press("Escape")
    collected = page.get_by_role("region", name="Open comments")
    await expect(collected).to_contain_text("1 comment")
    await collected.locator("summary").click()
    text = "ada wrote on the pull request, at line 2: Why <i>two</i>?"
    await expect(collected).to_contain_text(text)
