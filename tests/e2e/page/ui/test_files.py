"""The page's views of files and commits, against scripted answers that an agent may have made."""

import base64
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.async_api import Page, Route, expect

from tests.e2e.page.test_axe import AXE
from tests.e2e.page.ui.open_page import OpenPage, learns
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

ASKED = re.compile(r"/v1/sandboxes/\w+/(files|commits)")
EVIL = "<img src=x onerror=alert(1)>\u202e\n.md"
MANY = 100_000
CHANGED = "a" * 40
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
HTML = "<script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"
CONTENTS: dict[str, bytes] = {
    EVIL: f"# Title\n\n{HTML}\n\n[go](javascript:window.hacked=1) [src](src/app.py)\n".encode(),
    "data.csv": f'name,note\n"a, b",{HTML}\n'.encode(),
    "drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hacked=1'/>",
    "image.png": PIXEL,
    "not-an-image.png": HTML.encode(),
    "src/app.py": b"".join(b"def f%d(): return 'x'\n" % n for n in range(200_000)),
    "core": b"\x7fELF\0\0",
    "empty": b"",
}


@dataclass
class Workspace:
    """Answers of the file API over a few files, and what was asked of it."""

    files: dict[str, bytes] = field(default_factory=lambda: dict(CONTENTS))
    asked: list[tuple[str, Any]] = field(default_factory=list)

    async def answer(self, route: Route) -> None:
        request = route.request
        url = urlsplit(request.url)
        query = {name: value[0] for name, value in parse_qs(url.query).items()}
        act = url.path.rpartition("/")[2]
        path = query.get("path", "")
        if "/commits" in url.path:
            await _json(route, _commit() if act == CHANGED else _commits())
        elif request.method != "GET":
            await self._write(route, act, path)
        elif act == "files":
            await _json(route, self._page(path, query.get("cursor")))
        elif act == "stat":
            await self._stat(route, path)
        elif act == "content":
            await self._content(route, path)
        elif act == "search":
            await route.fulfill(content_type="text/event-stream", body=_found(query))
        else:
            await route.fulfill(status=404, content_type="application/json", body="{}")

    def _page(self, folder: str, cursor: str | None) -> dict[str, Any]:
        if folder == "big":
            begin = int(cursor or 0)
            names = [f"{n:06}.log" for n in range(begin, min(begin + 1000, MANY))]
            following = str(begin + 1000) if begin + 1000 < MANY else None
            return {"entries": [entry(f"big/{name}", 1) for name in names], "next": following}
        inside = [one for one in self.files if one.rpartition("/")[0] == folder]
        found = [entry(one, len(self.files[one])) for one in sorted(inside)]
        if not folder:
            found += [entry("big", 0, "dir"), entry("src", 0, "dir")]
        return {"entries": found, "next": None}

    async def _stat(self, route: Route, path: str) -> None:
        if path in self.files:
            await _json(route, entry(path, len(self.files[path])))
        else:
            body = json.dumps({"detail": "not there", "code": "no_such_file"})
            await route.fulfill(status=404, content_type="application/problem+json", body=body)

    async def _content(self, route: Route, path: str) -> None:
        data = self.files[path]
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", route.request.headers.get("range", ""))
        begin, end = (int(asked[1]), int(asked[2]) + 1) if asked else (0, len(data))
        await route.fulfill(
            status=206,
            content_type="application/octet-stream",
            headers={"Content-Range": f"bytes {begin}-{end - 1}/{len(data)}"},
            body=data[begin:end],
        )

    async def _write(self, route: Route, act: str, path: str) -> None:
        request = route.request
        if request.method == "PUT":
            self.files[path] = request.post_data_buffer or b""
            self.asked.append(("upload", path))
        elif request.method == "DELETE":
            self.files.pop(path)
            self.asked.append(("remove", path))
        else:
            body = json.loads(request.post_data or "{}")
            self.asked.append((act, body))
            if act == "move":
                self.files[body["to"]] = self.files.pop(body["from"])
        await _json(route, entry(path, 1))


def entry(path: str, size: int, kind: str = "file") -> dict[str, Any]:
    return {
        "name": path.rpartition("/")[2], "path": path, "type": kind, "size": size,
        "mode": "0644", "mtime": "2026-01-01T00:00:00.000Z",
    }  # fmt: skip


def _found(query: dict[str, str]) -> str:
    events: list[dict[str, Any]] = [{"type": "name", "path": EVIL, "kind": "file"}]
    if query["in"] == "text":
        line = {"line": 150_000, "before": HTML, "match": query["text"], "after": "\u202e"}
        events = [{"type": "line", "path": "src/app.py", **line}]
    events.append({"type": "end", "reason": "time", "files": 9, "bytes": 9, "large": 1, "more": 0})
    return "".join(f"data: {json.dumps(one)}\n\n" for one in events)


def _commit_view(commit: str, *parents: str) -> dict[str, Any]:
    at = "2026-01-01T00:00:00.000Z"
    return {
        "commit": commit, "parents": list(parents), "author": HTML, "email": "a@example.org",
        "at": at, "subject": HTML,
    }  # fmt: skip


def _commits() -> dict[str, Any]:
    ids = [f"{n:040x}" for n in range(3000)]
    side, base = "b" * 40, "c" * 40
    list_ = [_commit_view(CHANGED, side, ids[0]), _commit_view(side, base)]
    list_ += [_commit_view(one, *ids[n + 1 : n + 2]) for n, one in enumerate(ids)]
    refs = [{"name": HTML, "kind": "branch", "commit": CHANGED}]
    return {
        "branch": HTML, "head": CHANGED, "digest": base, "refs": refs,
        "commits": [*list_, _commit_view(base)], "next": None,
    }  # fmt: skip


def _commit() -> dict[str, Any]:
    hunk = {
        "old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1, "heading": HTML,
        "lines": ["-old", f"+{HTML}"],
    }  # fmt: skip
    modes = {"old_path": None, "old_mode": None, "new_mode": None}
    file = {"path": EVIL, **modes, "binary": False, "truncated": False, "hunks": [hunk]}
    whole = {"message": f"{HTML}\n\n{HTML}", "truncated": False, "files": [file]}
    return {"commit": _commit_view(CHANGED, "b" * 40), **whole}


async def _json(route: Route, body: Any) -> None:
    await route.fulfill(status=200, content_type="application/json", body=json.dumps(body))


async def test_files_are_looked_through_changed_and_shown_as_text(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page, workspace = open_page.page, Workspace()
    await page.route(ASKED, workspace.answer)
    if AXE.exists():
        await page.evaluate(AXE.read_text())
    await page.get_by_role("tab", name="Files").click()
    tree = page.get_by_role("tree")
    await is_shown_as_what_it_is(page)
    await is_virtual(page)
    await is_found(page)
    await is_changed_by_keyboard(page, workspace)
    await is_uploaded(page, workspace, tmp_path)
    await has_no_trouble(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await expect(tree).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def is_shown_as_what_it_is(page: Page) -> None:
    """Markdown, a table, SVG, an image and what only says it is one: all of it runs nothing."""
    viewer = page.locator(".viewer")
    await page.get_by_role("treeitem", name="onerror").click()
    await expect(viewer.locator(".prose-h1")).to_have_text("Title")
    await expect(viewer).to_contain_text("<script>window.hacked=1</script>")
    await expect(viewer.get_by_text("go", exact=True)).to_be_visible()
    await has_no_trouble(page)
    await viewer.get_by_role("button", name="src").click()
    await expect(viewer.locator("h2")).to_have_text("src/app.py")
    await page.get_by_role("treeitem", name="data.csv").click()
    await expect(viewer.get_by_role("cell", name="a, b")).to_be_visible()
    await expect(viewer.get_by_role("cell", name="onerror")).to_be_visible()
    await page.get_by_role("treeitem", name="drawing.svg").click()
    await expect(viewer.locator(".viewer-line")).to_contain_text("<svg")
    await page.get_by_role("treeitem", name="not-an-image.png").click()
    await expect(viewer.locator(".viewer-line")).to_contain_text("<script>")
    await page.get_by_role("treeitem", name=re.compile("^image.png")).click()
    await expect(viewer.locator("img")).to_have_js_property("naturalWidth", 1)
    await page.get_by_role("treeitem", name="core").click()
    await expect(viewer).to_contain_text("binary")
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("img[onerror], script:not([src])").count() == 0


async def is_virtual(page: Page) -> None:
    """100,000 entries and 200,000 lines are a few elements."""
    await page.get_by_role("treeitem", name="src", exact=True).click()
    await page.get_by_role("treeitem", name="app.py").click()
    lines = page.locator(".viewer-lines")
    await expect(lines.locator(".code-keyword").first).to_have_text("def")
    await lines.evaluate("box => { box.scrollTop = box.scrollHeight / 2; }")
    await expect(lines.get_by_text("f100000()")).to_be_visible()
    assert await lines.locator(".viewer-line").count() < 120
    await page.get_by_role("treeitem", name="big", exact=True).click()
    tree = page.get_by_role("tree")
    await expect(tree.get_by_text("000001.log")).to_be_visible()
    await tree.press("End")
    await expect(page.locator(".files-row").first).to_be_visible()
    assert await page.locator(".files-row").count() < 120
    await tree.press("Home")
    await page.get_by_role("treeitem", name="big", exact=True).click()


async def is_found(page: Page) -> None:
    """A match leads to its line; hostile names and lines are text."""
    await page.get_by_role("tree").press("Control+f")
    await page.get_by_label("Search for").fill("x")
    await expect(page.get_by_role("listitem").filter(has_text="onerror")).to_be_visible()
    await expect(page.locator(".files-search [role=status]")).to_contain_text("took too long")
    await page.get_by_label("Search in").select_option("text")
    await page.locator(".files-result", has_text="app.py").click()
    await expect(page.locator(".viewer-here")).to_contain_text("f149999()")
    await has_no_trouble(page)
    await page.keyboard.press("Escape")


async def is_changed_by_keyboard(page: Page, workspace: Workspace) -> None:
    """Renamed, made and deleted from the tree, each once."""
    tree = page.get_by_role("tree")
    await page.get_by_role("treeitem", name="empty").click()
    await expect(page.locator(".viewer")).to_contain_text("is empty")
    await tree.press("F2")
    await page.get_by_label("Path in the workspace").fill("../out")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("A path of names in the workspace")).to_be_visible()
    await page.get_by_label("Path in the workspace").fill("full")
    await page.keyboard.press("Enter")
    await page.get_by_role("treeitem", name="full").wait_for()
    await tree.press("Delete")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_role("treeitem", name="full")).to_have_count(0)
    await page.get_by_role("button", name="New folder").click()
    await page.get_by_role("textbox", name="Name").fill("new")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    acts = ["move", "remove", "mkdir"]
    await learns(page, lambda: [act for act, _ in workspace.asked], acts)
    assert workspace.asked[0][1] == {"from": "empty", "to": "full", "overwrite": False}


async def is_uploaded(page: Page, workspace: Workspace, tmp_path: Path) -> None:
    """A file that is there already is replaced only after a yes."""
    (tmp_path / "core").write_bytes(b"new")
    await page.get_by_role("treeitem", name="core").click()
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Upload files").click()
    await (await chosen.value).set_files(tmp_path / "core")
    await page.get_by_role("button", name="Replace", exact=True).click()
    await expect(page.locator(".files-transfers")).to_contain_text("done")
    assert workspace.asked[-1] == ("upload", "core")


async def has_no_trouble(page: Page) -> None:
    """axe-core finds nothing in what is shown."""
    if not AXE.exists():
        return
    found = await page.evaluate("axe.run('.terminals').then(({violations}) => violations)")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


async def test_commits_are_a_graph_and_show_what_they_changed(open_page: OpenPage) -> None:
    page, workspace = open_page.page, Workspace()
    await page.route(ASKED, workspace.answer)
    if AXE.exists():
        await page.evaluate(AXE.read_text())
    await page.get_by_role("tab", name="Commits").click()
    rows = page.get_by_role("option")
    await expect(rows.first.locator(".ref-head")).to_be_visible()
    assert await rows.count() < 120
    await page.get_by_role("listbox", name="Commits").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator(".commit-message")).to_have_text(HTML)
    await expect(page.locator(".diff-added")).to_contain_text(HTML)
    await page.keyboard.press("End")
    await expect(page.get_by_role("option").last).to_be_visible()
    await has_no_trouble(page)
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("img, script:not([src])").count() == 0


@pytest.mark.parametrize("tab", ["Files", "Changes", "Commits"])
async def test_files_of_a_sandbox_on_its_way_show_as_soon_as_it_is_ready(
    server: ScriptedServer, page: Page, tab: str
) -> None:
    workspace = Workspace()
    made = server.add_sandbox("coming", state="provisioning", ready_at=None)
    await page.route(ASKED, workspace.answer)
    await page.goto(f"{server.url}#login={TICKET}")
    await page.evaluate(f"location.hash = '#/sandboxes/{made}/{tab.lower()}'")
    panel = page.get_by_role("tabpanel")
    await expect(panel).to_contain_text("It is being started.")
    await expect(panel.get_by_text("this is what is kept")).to_have_count(0)
    await server.enter(made, "ready")
    await expect(panel.get_by_text("It is being started.")).to_have_count(0)
    if tab == "Files":
        await expect(page.get_by_role("treeitem").filter(has_text="data.csv")).to_be_visible()
    await server.enter(made, "failed")
    if tab == "Files":
        await expect(panel).to_contain_text("It failed before it had files.")


DRIVE = re.compile(r"/v1/(drive|sandboxes/\w+/drive)(/\w+)?(\?|$)")
ABSENT = {"detail": "Your Google Drive is not connected.", "code": "not_connected"}
THERE = {"detail": "There is 'Plan.md' in the workspace already.", "code": "exists"}


@dataclass
class ScriptedDrive:
    """Answers of a drive with one folder and one document, and what was asked of it."""

    connected: bool = False
    asked: list[tuple[str, Any]] = field(default_factory=list)

    async def answer(self, route: Route) -> None:
        request = route.request
        act = urlsplit(request.url).path.rpartition("/")[2]
        body = json.loads(request.post_data or "{}")
        account = "ada@example.org" if self.connected else None
        if request.method != "GET":
            self.asked.append((act, body))
        if act == "drive":
            await _json(route, {"available": True, "account": account, "connected_at": None})
        elif act == "connection":
            self.connected = False
            await _json(route, {"revoked": True})
        elif not self.connected or (act == "import" and not body["replace"]):
            told = THERE if self.connected else ABSENT
            kind = "application/problem+json"
            await route.fulfill(status=409, content_type=kind, body=json.dumps(told))
        elif act == "files":
            query = parse_qs(urlsplit(request.url).query)
            top = query["folder"] == ["root"]
            found = [_at_drive("1", "Designs", True)] if top else [_at_drive("2", EVIL, False)]
            await _json(route, {"files": found, "next": None})
        else:
            made = _at_drive("3", "out", False) if act == "export" else entry("Plan.md", 9)
            await _json(route, made)


def _at_drive(file_id: str, name: str, folder: bool) -> dict[str, Any]:
    return {
        "id": file_id, "name": name, "folder": folder, "media_type": "x", "size": None,
        "modified_at": None, "forms": [] if folder else ["md", "pdf"], "importable": not folder,
    }  # fmt: skip


async def test_files_come_from_a_drive_and_go_there(open_page: OpenPage) -> None:
    page, drive = open_page.page, ScriptedDrive()
    await page.route(ASKED, Workspace().answer)
    await page.route(DRIVE, drive.answer)
    await page.get_by_role("tab", name="Files").click()
    await page.get_by_role("button", name="From Drive…").click()
    dialog = page.get_by_role("dialog", name="From Drive to the workspace")
    await expect(dialog.get_by_role("alert")).to_contain_text("is not connected")
    await expect(dialog.get_by_role("button", name="Connect Google Drive")).to_be_visible()
    await page.keyboard.press("Escape")
    drive.connected = True
    await page.get_by_role("button", name="From Drive…").click()
    await dialog.get_by_role("button", name="Designs").click()
    await dialog.get_by_role("button", name="onerror").click()
    await expect(dialog.locator("img")).to_have_count(0)
    if AXE.exists():
        await page.evaluate(AXE.read_text())
        found = await page.evaluate("axe.run('[role=dialog]').then(({violations}) => violations)")
        assert [one["id"] for one in found] == []
    await dialog.get_by_label("as").select_option("pdf")
    await dialog.get_by_role("button", name="Import").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("already")
    await dialog.get_by_role("button", name="Replace what is there").click()
    await expect(dialog).to_have_count(0)
    await page.get_by_role("treeitem").filter(has_text="data.csv").click()
    await page.get_by_role("button", name="To Drive").click()
    await expect(page.get_by_text("out is in your Drive.")).to_be_visible()
    wanted = {"file": "2", "path": "", "form": "pdf"}
    assert drive.asked == [
        ("import", {**wanted, "replace": False}),
        ("import", {**wanted, "replace": True}),
        ("export", {"path": "data.csv", "folder": "root", "secrets": "refuse"}),
    ]
    await page.evaluate("location.hash = '#/secrets'")
    section = page.get_by_role("region", name="Google Drive")
    await expect(section).to_contain_text("ada@example.org")
    await section.get_by_role("button", name="Disconnect…").click()
    await page.get_by_role("alertdialog").get_by_role("button", name="Disconnect").click()
    await expect(section.get_by_role("button", name="Connect Google Drive")).to_be_visible()
    assert drive.asked[-1][0] == "connection"
