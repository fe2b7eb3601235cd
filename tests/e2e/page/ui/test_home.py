"""The page's dialog that brings work home, against scripted answers: keyboard, phone and axe."""

import json
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from tests.e2e.page.ui.open_page import OpenPage, sandbox_menu
from tests.e2e.page.ui.scripted import REPOSITORY
from tests.places import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

HOME = re.compile(r"/v1/(sandboxes/\w+/(pulls|pushes|sync|bundle)|kept/|pulls/)")
HELD = {
    "kept_id": "kept_1", "repo": 0, "branch": "review\u202ed", "ref": "refs/atoll/pushed/x/review",
    "commit": "c" * 40, "commits": 2, "subject": "mend <b>it</b>", "bytes": 900,
    "pushed_at": "2026-01-01T12:00:00Z", "kept_until": "2026-02-01T12:00:00Z",
}  # fmt: skip
SYNC = {
    "outcome": "clean", "onto": "main", "commit": "d" * 40, "commits": 0, "files": [], "more": 0,
    "stashed": False, "agent": None,
}  # fmt: skip
WORKS = {"title": "x", "status": 409, "code": "agent_works", "detail": "codex is at work in box."}
NO_FAULTS = """async () => {
  const found = await axe.run(document.querySelector('[role=dialog]'));
  return found.violations.map(({ id, nodes }) => `${id} ${nodes[0].html}`);
}"""


class Home:
    """What the server knows of pulls, pushes and the rebase."""

    def __init__(self) -> None:
        self.pulls: list[dict[str, Any]] = []
        self.works, self.state, self.stopped = True, "done", False
        self.held = [HELD]
        self.asked: list[tuple[str, Any]] = []

    async def answer(self, route: Route) -> None:
        path, method = urlsplit(route.request.url).path, route.request.method
        sent = route.request.post_data
        body: dict[str, Any] = json.loads(sent) if sent else {}
        self.asked.append((f"{method} {path.rsplit('/', 1)[1]}", body))
        if method == "DELETE":
            if "/pulls/" in path:
                self.pulls = [one | {"state": "cancelled"} for one in self.pulls]
            else:
                self.held = []
            await route.fulfill(status=204)
            return
        told: dict[str, Any] = {"pushes": self.held}
        if path.endswith("/sync") and body["act"] != "look" and not body["now"] and self.works:
            self.works = False
            await route.fulfill(status=409, json=WORKS)
            return
        if path.endswith("/sync"):
            told = SYNC | self._rebased(body["act"], agent=body["agent"])
        elif path.endswith("/pulls"):
            told = self._order(body) if body else {"pulls": self.pulls, "watched": bool(self.pulls)}
        await route.fulfill(json=told)

    def _rebased(self, act: str, *, agent: bool) -> dict[str, Any]:
        if act == "abort":
            self.stopped = False
            return {"outcome": "aborted"}
        self.stopped = self.stopped or act == "rebase"
        if not self.stopped:
            return {}
        files: list[Any] = ["src/a.py", "src/evil\u202e.py"]
        return {"outcome": "conflict", "files": files, "agent": "t_1" if agent else None}

    def _order(self, body: dict[str, Any]) -> dict[str, Any]:
        order = {
            "order_id": "pull_1", "sandbox_id": "sb", "sandbox_name": "box", "repo": 0,
            "branch": None, "into": None, "uncommitted": False, "pushed": False,
            "state": self.state, "written": body.get("into") or "fix", "commit": "e" * 40,
            "commits": 2, "said": "", "at": "2026-01-01T12:00:00Z", **body,
        }  # fmt: skip
        self.pulls.insert(0, order)
        return order


async def opened(page: Page, home: Home) -> None:
    await page.route(HOME, home.answer)
    await (await sandbox_menu(page)).get_by_role("button", name="Pull").click()
    await expect(page.get_by_role("dialog")).to_be_visible()


async def check(page: Page) -> None:
    await page.evaluate((ROOT / "ui/node_modules/axe-core/axe.min.js").read_text())
    assert await page.evaluate(NO_FAULTS) == []
    wide = "() => document.querySelector('[role=dialog]').scrollWidth - window.innerWidth"
    assert await page.evaluate(wide) <= 0


async def test_work_is_brought_home_from_the_dialog(open_page: OpenPage) -> None:
    page, home = open_page.page, Home()
    repo = {"repo_url": "https://example.com/o/r", "branch": "fix"}
    place = {**REPOSITORY, "key": "k", "from_branch": "main"}
    name = open_page.server.sandboxes[open_page.sandbox]["name"]
    open_page.server.sandboxes[open_page.sandbox]["repos"] = [{**place, **repo}]
    open_page.server.sandboxes[open_page.sandbox]["held"] = [HELD]
    await open_page.server.report(open_page.sandbox, "t_1", "working")
    await page.reload()
    await opened(page, home)
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_text(f"atoll pull {name}", exact=True)).to_be_visible()
    await dialog.get_by_label("Branch of your repository").fill("mine")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Space")
    await expect(dialog.get_by_text(f"atoll pull {name} mine --uncommitted")).to_be_visible()
    await dialog.get_by_role("button", name="Pull into my checkout").press("Enter")
    await expect(
        dialog.get_by_text("is at eeeeeeeeeeee in your checkout: 2 new commits")
    ).to_be_visible()
    assert ("POST pulls", {"repo": 0, "uncommitted": True, "into": "mine"}) in home.asked
    await expect(dialog.get_by_text("mend <b>it</b>")).to_be_visible()
    home.state = "waiting"
    await dialog.get_by_role("button", name="Pull into my checkout").press("Enter")
    cancel = dialog.get_by_role("button", name="Cancel the pull of its own branch")
    await cancel.press("Enter")
    await expect(dialog.get_by_text("was cancelled").first).to_be_visible()
    await expect(dialog.get_by_text("Pushed inside, not pulled:")).to_be_visible()
    await dialog.get_by_role("button", name="Sync").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("codex is at work in box.")
    await dialog.get_by_role("button", name="Sync all the same").press("Enter")
    await expect(dialog.get_by_text("src/a.py")).to_be_visible()
    await check(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await check(page)
    await dialog.get_by_role("button", name="Let codex resolve it").click()
    await expect(dialog.get_by_text("Its agent was asked")).to_be_visible()
    assert home.asked[-1] == ("POST sync", {"repo": 0, "act": "look", "agent": True, "now": False})
    await dialog.get_by_role("button", name="Give the rebase up").click()
    await expect(dialog.get_by_text("it is back at dddddddddddd")).to_be_visible()
    await dialog.get_by_role("button", name="Drop").click()
    await expect(dialog.get_by_text("Pushed inside, held for you")).to_be_hidden()
    assert ("DELETE kept_1", {}) in home.asked and ("DELETE pull_1", {}) in home.asked
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()


async def test_invisible_characters_of_branches_and_files_are_spelled(open_page: OpenPage) -> None:
    page, home = open_page.page, Home()
    home.works, home.stopped = False, True
    box = open_page.server.sandboxes[open_page.sandbox]
    box["repos"] = [{**REPOSITORY, "branch": "fix", "from_branch": "main"}]
    box["held"] = [HELD]
    box["unpulled"] = [
        {
            "path": "/workspace/a\u2066b", "commits": 1, "tip": "f" * 40,
            "subject": "no\u202ething", "stashes": 0, "changed": ["evil\u202egpj.exe"],
            "untracked": ["\u3164"], "more": 0,
        }
    ]  # fmt: skip
    await page.reload()
    await opened(page, home)
    dialog = page.get_by_role("dialog")
    unpulled = dialog.get_by_role("status", name="Work that exists only here")
    for words in (
        "/workspace/a\\u{2066}b",
        "(no\\u{202e}thing)",
        "evil\\u{202e}gpj.exe",
        "untracked \\u{3164}",
        "review\\u{202e}d",
    ):
        await expect(unpulled).to_contain_text(words)
    await expect(dialog.get_by_role("button", name="Drop review\\u{202e}d")).to_be_visible()
    files = dialog.get_by_role("list", name="Files in conflict")
    await expect(files).to_contain_text("src/evil\\u{202e}.py")
    text = await dialog.inner_text()
    assert not set(text) & {"\u202e", "\u2066", "\u3164"}
