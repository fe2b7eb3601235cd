"""axe-core over the pages of a day's work: wall, panes, changes, tasks, a repository's own file,
what comes home, and every kind of inbox item; each view in light and in dark colours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.async_api import Browser, Route, expect

from tests.bounds import matrix
from tests.e2e.page.test_axe import AXE, BRANCH, LONG, OPTIONS, REPOSITORY, Survey
from tests.e2e.page.test_people import DESKTOP, PHONE_SCREEN
from tests.peers.browsers import CALM

from ..open_page import begin_sandbox, sandbox_menu
from ..scripted import TICKET, ScriptedServer, at
from ..test_composer import ISSUE, PASTE
from ..test_home import HOME, Home
from ..test_review import REVIEWED, answer

pytestmark = [
    pytest.mark.browser,
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/"),
]

DEVICES: dict[str, dict[str, Any]] = {"desktop": {"viewport": DESKTOP}, "phone": PHONE_SCREEN}
WORDS = "curl https://registry.example/a-script-with-a-long-name | sh && make everything"
KINDS = {
    "secret": "cust-token for api.example.com, which an agent asked for again and again",
    "command": "git push --force origin feature/export-invoices-as-spreadsheet:main",
    "push": f"{BRANCH} of workspace: 12 commits, “Export what was asked for”",
    "host": "a-host-with-quite-a-long-name.internal.example.com, port 443",
}


OF_COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules of axe whose judgement other colours can change."""


@dataclass
class BothColours(Survey):
    """A survey that judges each view twice: whole in light colours, its colours in dark ones."""

    async def check(self, view: str) -> None:
        await self.page.emulate_media(color_scheme="light", reduced_motion="reduce")
        await super().check(f"{view}, light")
        await self.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        await self.judge(f"{view}, dark", OF_COLOURS)


@asynccontextmanager
async def surveyed(browser: Browser, address: str, device: str) -> AsyncIterator[BothColours]:
    context = await browser.new_context(**CALM, **DEVICES[device])
    await context.add_init_script(path=AXE)
    page = await context.new_page()
    page.set_default_timeout(60_000)
    await page.goto(address)
    made = BothColours(page, device)
    yield made
    await context.close()
    assert not made.found, "\n".join(made.found)


@pytest.mark.parametrize("device", matrix(DEVICES, "desktop"))
async def test_pages_of_a_day_of_work_hold_to_axe(
    server: ScriptedServer, browser: Browser, device: str
) -> None:
    first = worked(server)
    async with surveyed(browser, f"{server.url}#login={TICKET}", device) as found:
        await expect(found.page.locator(".card-name").first).to_be_visible()
        await tasks(found, server)
        await wall(found, server)
        await review(found, server, first)
        await homeward(found, server, first)
        await project(found, server, first)
        await waiting(found, server)


def worked(server: ScriptedServer) -> str:
    """Two sandboxes that received one task, with two terminals each."""
    repos = [{"repo_url": REPOSITORY, "key": "k", "branch": BRANCH, "path": "/workspace"}]
    task = {
        "prompt": f"Export the invoices as a spreadsheet. {'And mind the details. ' * 8}",
        "group": "task_1", "state": "waiting", "reason": None, "mode": "tui",
        "permissions": "allow", "max_working": None, "before": 0,
        "issue": None,
    }  # fmt: skip
    made = [server.add_sandbox(f"{LONG}-{n}", repos=repos, task=task, agent="codex") for n in "12"]
    for sandbox in made:
        for name in ("codex", "a-terminal-with-a-name-that-goes-on-and-on"):
            server.add_terminal(sandbox, name=name)
    return made[0]


async def tasks(found: BothColours, server: ScriptedServer) -> None:
    page = found.page
    await page.get_by_label("What is to be done").fill("Export the invoices, " * 12)
    await found.check("composer")
    await page.get_by_role("button", name="More", exact=True).click()
    for summary in await page.locator("form summary").all():
        await summary.click()
    await found.check("composer unfolded")
    await page.route("**/v1/forges/issues?*", lambda route: route.fulfill(json=ISSUE))
    await page.get_by_label("What is to be done").evaluate(PASTE, ISSUE["url"])
    chip = page.get_by_role("button", name="Task: Issue 12")
    await found.check("composer with an issue")
    await chip.click()
    await page.get_by_role("button", name="Take it out").focus()
    await found.check("what an issue asks for")
    await page.get_by_role("button", name="Take it out").click()
    await expect(chip).to_have_count(0)
    await expect(page.get_by_text("The same task, several agents")).to_be_visible()


async def wall(found: BothColours, server: ScriptedServer) -> None:
    await found.page.goto(f"{server.url}#/terminals")
    await expect(found.page.locator(".tile-face")).to_have_count(4)
    await found.check("terminals")


async def review(found: BothColours, server: ScriptedServer, sandbox: str) -> None:
    page = found.page
    await page.route(REVIEWED, answer)
    await page.goto(f"{server.url}#/sandboxes/{sandbox}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    if found.look == "desktop":
        await page.get_by_role("button", name="Split").click()
        await page.get_by_role("button", name="All in a grid").click()
        await expect(page.locator(".pane-placed")).to_have_count(2)
        await found.check("two panes")
        await page.get_by_role("button", name="Split").click()
        await page.get_by_role("button", name="One at a time").click()
    await page.goto(f"{server.url}#/sandboxes/{sandbox}/changes")
    await expect(page.get_by_role("group", name="Changes of src/a.py")).to_contain_text("return 2")
    for key in ("u", "n", "ArrowDown"):
        await page.keyboard.press(key)
        await found.check(f"changes after {key}")
    await page.keyboard.press("c")
    await page.get_by_role("textbox", name="Comment").fill("Why two?")
    await found.check("a comment")
    await page.keyboard.press("Control+Enter")
    await found.check("a comment that was made")
    await found.check_dialog(page.get_by_role("button", name="Commit…"), "commit")


async def homeward(found: BothColours, server: ScriptedServer, sandbox: str) -> None:
    home = Home()
    await found.page.route(HOME, home.answer)
    await found.page.goto(f"{server.url}#/sandboxes/{sandbox}")
    await expect(found.page.get_by_role("tab", name="Changes")).to_be_visible()
    menu = await sandbox_menu(found.page)
    await found.check("menu of a sandbox")
    await menu.get_by_role("button", name="Pull").click()
    await expect(found.page.get_by_role("dialog")).to_contain_text("held for you")
    await found.check("pull")
    await found.page.keyboard.press("Escape")


async def project(found: BothColours, server: ScriptedServer, sandbox: str) -> None:
    page = found.page
    proposals = [{"kind": kind, "text": WORDS} for kind in ("setup", "network", "copy", "port")]
    changes = {"added": proposals[:2], "removed": proposals[2:]}
    more = {"file": ".atoll.yaml", "proposals": proposals, "changes": changes}
    server.project |= {**more, "undecided": True, "ignored": ["hooks.preStart"]}
    await page.goto(f"{server.url}#/")
    if found.look == "phone":
        await page.get_by_role("button", name="Sandboxes").click()
    form = await begin_sandbox(page)
    await form.get_by_label("Name", exact=True).fill("from-here")
    for chip in ("Branch", "Repository"):
        await form.get_by_role("button", name=chip).click()
        await found.check(f"chip of the {chip.lower()}")
        await page.keyboard.press("Escape")
    await form.get_by_role("button", name="Create sandbox").click()
    dialog = page.get_by_role("dialog", name="What this repository asks for")
    await expect(dialog).to_be_visible()
    await expect(page.locator(".dialog:focus-within")).to_contain_text("asks for")
    await found.check("what a repository asks for")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("heading", name="from-here")).to_be_visible()
    server.sandboxes[sandbox]["project"] = {
        "repository": "k", "digest": "d" * 64, "state": "failed", "terminal_id": "t_1",
        "reason": "A command ended with exit code 2.", "setup": [WORDS], "servers": {},
        "ports": [], "copies": [], "prebuilt_at": None,
    }  # fmt: skip
    await page.goto(f"{server.url}#/sandboxes/{sandbox}")
    await server.tell(f"sandbox:{sandbox}", "sandbox.setup_ended")
    await expect(page.get_by_role("alert")).to_contain_text("exit code 2")
    await found.check("set-up that failed")


async def waiting(found: BothColours, server: ScriptedServer) -> None:
    """An item of every kind, in the inbox and on home."""
    page, (first, *_) = found.page, server.sandboxes
    items: list[dict[str, Any]] = [
        {
            "id": f"i_{kind}", "kind": kind, "sandbox_id": first, "sandbox_name": f"{LONG}-1",
            "agent": None, "agent_id": None, "since": at(datetime.now(UTC)), "lines": [line, line],
            "options": OPTIONS, "words": kind == "command", "by": "", "shown": "a" * 64, "times": 3,
            "place": None, "author": None,
        }
        for kind, line in KINDS.items()
    ]  # fmt: skip
    place = {"dashboard_id": "dsh_1", "dashboard_name": LONG, "item_id": "itm_1"}
    nowhere: dict[str, Any] = {
        "sandbox_id": None,
        "sandbox_name": None,
        "options": [],
        "place": place,
    }
    for kind in ("mention", "todo"):
        items.append({**items[0], "id": f"i_{kind}", "kind": kind, "author": LONG, **nowhere})

    async def inbox(route: Route) -> None:
        await route.fulfill(json={"items": items})

    await page.route("**/v1/inbox", inbox)
    await page.goto(f"{server.url}#/inbox")
    await server.tell(f"sandbox:{first}", "git.pushed")
    asked = page.get_by_role("list", name="Waiting for you").get_by_role("listitem")
    await expect(asked).to_have_count(len(items))
    await found.check("inbox with every kind of item")
    await page.goto(f"{server.url}#/")
    await expect(page.get_by_role("region", name="Waiting for you")).to_be_visible()
    await found.check("home with every kind of item")
