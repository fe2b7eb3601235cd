"""axe-core over every route, dialog and guest page of a real Atoll, in light and dark colours, on a
desktop and on a phone; nothing is wider than its screen.

Pages of a guest have one look in the usual run, and the others are seen there on a scripted server
(`page/ui`); the slow tier has all four looks of each.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Request, expect

from atoll.testing.server import TestServer
from tests.bounds import matrix
from tests.e2e.page.test_people import DESKTOP, PHONE_SCREEN, asking
from tests.e2e.page.test_real_page import LINK
from tests.e2e.page.ui.scripted import TICKET, ScriptedServer, scripted_server
from tests.e2e.page.ui.scripted_terminal import ScriptedTerminal
from tests.peers.api import Api
from tests.peers.browsers import CALM, chromium, needs_chromium
from tests.places import ROOT

AXE = ROOT / "ui/node_modules/axe-core/axe.min.js"
#: As long as the names people get by default: of a repository and a branch.
LONG = "customer-dashboard-feature-export-invoices"
REPOSITORY = "https://example.com/an-organization-with-a-long-name/customer-dashboard"
BRANCH = "feature/export-invoices-as-spreadsheet"
ASKING = """
id: profile.asking
version: "1.0.0"
extension: ext.namespaces
safety: {operator: [[git, push]]}
"""
PROFILES = {"asking": ASKING}
KINDS = ("text", "thinking", "tool-call", "bash", "diff", "file", "plan", "status", "turn")
STATES = ("running", "done", "failed", "pending")
OPTIONS = [
    {"id": "accept", "label": "Yes, and do not ask again for this command", "effect": "allow"},
    {"id": "decline", "label": "No, and tell the agent what to do differently", "effect": "deny"},
]
#: What a program draws at a terminal is its own business.
NOT_OURS = [".xterm-screen", ".player-screen"]
_AXE = """async ([exclude, options]) => {
  const moves = document.getAnimations().map(one => one.finished.catch(() => undefined));
  await Promise.all(moves);
  const { violations } = await axe.run({ exclude: exclude.map(one => [one]) }, options);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(node => `${id} (${impact}) at ${node.target.join(' ')}: ${node.failureSummary}`));
}"""
#: Rows that are meant to be scrolled sideways, and text that is cut with an ellipsis.
SCROLLED = ".facts, .tab-list, .admin-tabs, .touch-keys, .xterm, pre"
#: Whatever is drawn beyond the right edge of the screen, or of the dialog or card it is in.
_WIDE = """scrolled => {
  const cut = node => node !== null &&
    (getComputedStyle(node).textOverflow === 'ellipsis' || cut(node.parentElement));
  const edge = node => Math.min(innerWidth,
    ...['.dialog', '.card', '.row', '.tab'].map(
      within => node.closest(within)?.getBoundingClientRect().right ?? innerWidth));
  return [...document.querySelectorAll('body *')]
    .filter(node => node.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .filter(node => node.closest('.spoken, .skip') === null && !cut(node))
    .filter(node => (node.parentElement.closest(scrolled) ?? null) === null)
    .filter(node => node.getBoundingClientRect().right > edge(node) + 1)
    .map(node => `${node.tagName}.${node.className} ends at ${node.getBoundingClientRect().right}`);
}"""
LOOKS: dict[str, dict[str, Any]] = {
    "light-desktop": {"color_scheme": "light", "viewport": DESKTOP},
    "dark-phone": {"color_scheme": "dark", **PHONE_SCREEN},
    "dark-desktop": {"color_scheme": "dark", "viewport": DESKTOP},
    "light-phone": {"color_scheme": "light", **PHONE_SCREEN},
}
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(600),
    needs_chromium,
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: run `npm ci` in ui/"),
]


@dataclass
class Survey:
    """What axe and the ruler found, view by view."""

    page: Page
    look: str
    found: list[str] = field(default_factory=list)
    seen: int = 0

    async def check(self, view: str) -> None:
        """Judge what is on screen."""
        wide = await self.page.evaluate(_WIDE, SCROLLED)
        self.found += [f"{view}: {line}" for line in wide]
        await self.judge(view, {})

    async def judge(self, view: str, options: dict[str, Any]) -> None:
        """Have axe judge what is on screen, by these options of `axe.run`."""
        told = await self.page.evaluate(_AXE, [NOT_OURS, options])
        self.found += [f"{view}: {line}" for line in told]
        self.seen += 1
        if folder := os.environ.get("ATOLL_TEST_SCREENSHOTS"):
            name = f"{self.look}-{self.seen:02}-{'-'.join(view.split())}.png"
            await self.page.screenshot(path=Path(folder) / name)

    @property
    def dialog(self) -> Locator:
        """The dialog, or the question, that lies over the page."""
        return self.page.get_by_role("dialog").or_(self.page.get_by_role("alertdialog"))

    async def check_dialog(self, opener: Locator, view: str) -> None:
        """Open a dialog, judge it, close it by Escape."""
        await opener.click()
        await expect(self.dialog).to_be_visible()
        await self.check(view)
        await self.page.keyboard.press("Escape")
        await expect(self.dialog).to_have_count(0)

    async def act(self, words: str, view: str) -> None:
        """Judge the dialog of a command of the palette."""
        await self.palette()
        await self.page.get_by_role("combobox", name="Find a command or sandbox").fill(words)
        await self.page.keyboard.press("Enter")
        await expect(self.dialog).to_be_visible()
        await self.check(view)
        await self.page.keyboard.press("Escape")
        await expect(self.dialog).to_have_count(0)

    async def palette(self) -> None:
        buttons = self.page.get_by_role("button", name="Commands")
        if await buttons.count():
            await buttons.first.click()
        else:
            await self.page.keyboard.press("Control+k")
        await expect(
            self.page.get_by_role("combobox", name="Find a command or sandbox")
        ).to_be_visible()


def looks(*usual: str) -> pytest.MarkDecorator:
    """Test these looks in the usual run, and the others in the slow tier."""
    return pytest.mark.parametrize("look", matrix(LOOKS, *usual))


@asynccontextmanager
async def survey(browser: Browser, address: str, look: str) -> AsyncIterator[Survey]:
    """Somebody's browser with axe-core in it; at the end nothing may have been found."""
    context = await browser.new_context(**CALM, **LOOKS[look])
    await context.add_init_script(path=AXE)
    page = await context.new_page()
    page.set_default_timeout(60_000)
    waiting: dict[Request, float] = {}

    def ended(one: Request) -> None:
        waiting.pop(one, None)

    page.on("request", lambda one: waiting.update({one: time.monotonic()}))
    page.on("requestfinished", ended)
    page.on("requestfailed", ended)
    await page.goto(address)
    made = Survey(page, look)
    try:
        yield made
    except BaseException:
        print(f"{page.url} shows:\n{await page.locator('body').inner_text()}\nIt waits for:")
        print(*(f"{one.url} {time.monotonic() - since:.1f} s" for one, since in waiting.items()))
        raise
    finally:
        print("\n".join(made.found))
    await context.close()
    assert not made.found, "\n".join(made.found)


async def link_of(server: TestServer) -> str:
    done = await asyncio.to_thread(server.run, "login")
    return str(LINK.findall(done.stdout)[0])


@looks()
async def test_page_before_login_and_its_first_pages_hold_to_axe(
    server: TestServer, api: Api, look: str
) -> None:
    name = f"{LONG}-{look}"
    sandbox = api.create(name=name, profile="asking")["sandbox_id"]
    async with chromium(whole=True) as browser:
        async with survey(browser, server.url, look) as stranger:
            await expect(stranger.page.get_by_role("heading", name="Log in")).to_be_visible()
            await stranger.check("logged out")
        async with survey(browser, await link_of(server), look) as at:
            page = at.page
            await expect(page.locator(".card-name", has_text=name)).to_be_visible()
            await at.check("home")
            with asking(server, sandbox, "operator-approve -- git push") as waiting:
                await expect(page.get_by_role("button", name="Allow once")).to_be_visible()
                await at.check("approval asked")
                await page.get_by_role("button", name="Deny").click()
                await asyncio.to_thread(waiting.communicate)
            await at.palette()
            await at.check("palette")
            await page.get_by_role("combobox", name="Find a command or sandbox").fill(
                "no such command"
            )
            await at.check("palette without a match")
            await page.keyboard.press("Escape")
            await page.goto(f"{server.url}/#/sandboxes/nobody")
            await expect(page.get_by_text("That sandbox is gone.")).to_be_visible()
            await at.check("sandbox that is not there")
            await page.get_by_role("button", name="New task").first.focus()
            await at.check("composer")
            if "phone" in look:
                await page.get_by_role("button", name="Sandboxes").click()
                await expect(page.locator(".row").first).to_be_visible()
                await at.check("menu")
            await at.act("Log out", "log out")


@looks()
async def test_page_of_secrets_holds_to_axe(server: TestServer, api: Api, look: str) -> None:
    name = f"a-token-of-an-internal-service-with-a-long-name-{look}"
    body = {
        "kind": "env",
        "value": "Tq7-x91z-pLm4-w0Rk",
        "scope": "person",
        "broker_protected": False,
    }
    api.call("POST", "/v1/secrets", json={"name": name, "env": "A_TOKEN", **body})
    async with chromium() as browser, survey(browser, await link_of(server), look) as at:
        page = at.page
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.goto(f"{server.url}/#/secrets")
        row = page.get_by_role("list", name="Secrets").get_by_role("listitem").filter(has_text=name)
        await expect(row).to_be_visible()
        await at.check("secrets")
        for kind in ("Model provider", "Any HTTPS service", "Git remote", "Variable"):
            await page.get_by_role("button", name="Set a secret").click()
            await page.get_by_role("radio", name=kind).check()
            await at.check(f"set a secret for {kind}")
            await page.keyboard.press("Escape")
            await expect(at.dialog).to_have_count(0)
        await at.check_dialog(row.get_by_role("button", name="Rotate"), "rotate")
        await at.check_dialog(row.get_by_role("button", name="Remove"), "remove")


@looks()
async def test_page_of_a_sandbox_holds_to_axe(server: TestServer, api: Api, look: str) -> None:
    name = f"{LONG}-at-{look}"
    sandbox = api.create(name=name)["sandbox_id"]
    async with chromium() as browser, survey(browser, await link_of(server), look) as at:
        page = at.page
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await page.goto(f"{server.url}/#/sandboxes/{sandbox}")
        await expect(page.get_by_role("button", name="Open a terminal")).to_be_visible()
        await at.check("sandbox without a terminal")
        await page.get_by_role("button", name="Open a terminal").click()
        await expect(page.get_by_text("You drive")).to_be_visible()
        await at.check("terminal")
        await panels(at)
        await changes(at, api, sandbox)
        await dialogs(at)
        await recordings(at)
        await states(at, api, sandbox)


async def panels(at: Survey) -> None:
    """What opens within the page of a sandbox."""
    page = at.page
    for opener in await page.locator(".pop-face[aria-expanded]").all():
        await opener.click()
        await at.check(f"panel of {await opener.inner_text()}")
        await opener.press("Escape")
    if "desktop" in at.look:
        await page.get_by_role("button", name="Search").click()
        await expect(page.locator(".search")).to_be_visible()
        await at.check("search")
        await page.keyboard.press("Escape")
    await page.get_by_role("button", name="Show as cards").click()
    await at.check("cards of a shell")
    await page.get_by_role("button", name="Show the terminal").click()


async def changes(at: Survey, api: Api, sandbox: str) -> None:
    """A review: a diff with a comment on a line and its collected list, an image, and the keys."""
    page = at.page
    line = f"git init -q; seq 9 > a.txt; echo {PIXEL} | base64 -d > b.png"
    await asyncio.to_thread(api.run, sandbox, line)
    await page.get_by_role("tab", name="Changes").click()
    diff = page.get_by_role("group", name="Changes of a.txt")
    await diff.get_by_role("button", name="Comment on line 2").click()
    await page.get_by_role("textbox", name="Comment").fill("Why two?")
    await at.check("comment on a line")
    await page.get_by_role("button", name="Add comment").click()
    await page.locator(".review-collected summary").click()
    await at.check("changes with a comment")
    await diff.get_by_role("button", name="Resolve").click()
    await expect(diff).to_contain_text("Resolved by")
    await at.check("changes with a comment that was resolved")
    await at.check_dialog(page.get_by_role("button", name="Keys"), "keys of the review")
    await page.get_by_role("button", name="b.png").click()
    await expect(page.get_by_role("img", name="After: b.png")).to_be_visible()
    await at.check("changed image")
    await page.get_by_role("tab").first.click()


async def dialogs(at: Survey) -> None:
    """The dialogs of the page of a sandbox, that of a share link with its link made."""
    page = at.page
    await at.check_dialog(page.get_by_role("button", name="Show as text"), "text")
    await at.check_dialog(page.get_by_role("button", name="network"), "network")
    await page.get_by_role("button", name="Share this terminal").click()
    await page.get_by_role("button", name="Make a link").click()
    await expect(page.get_by_role("textbox", name="Share link")).to_be_visible()
    await at.check("share")
    await page.keyboard.press("Escape")
    for words in ("Stop", "Recreate", "Destroy"):
        await at.act(f"{words} ", words)
    await at.check_dialog(page.locator(".tab-close").first, "close a terminal")


async def recordings(at: Survey) -> None:
    """A terminal while it is recorded, then its recording as it is played, then the log."""
    page = at.page
    await page.get_by_role("button", name="Record this terminal").click()
    await expect(page.get_by_role("button", name="Stop recording")).to_be_visible()
    await at.check("recorded")
    await page.get_by_role("button", name="Stop recording").click()
    await page.get_by_role("tab", name="Recordings").click()
    await page.get_by_role("button", name="Play", exact=True).first.click()
    await expect(page.locator(".player-screen")).to_be_visible()
    await at.check("recordings")
    await page.get_by_role("tab", name="Log").click()
    await at.check("log")


async def states(at: Survey, api: Api, sandbox: str) -> None:
    """The page of a sandbox that was stopped."""
    await asyncio.to_thread(api.act, sandbox, "stop")
    await expect(at.page.locator("main").get_by_text("Stopped").first).to_be_visible()
    await at.check("stopped")


@looks("dark-desktop")
async def test_pages_of_a_guest_hold_to_axe(server: TestServer, api: Api, look: str) -> None:
    name = f"{LONG}-by-{look}"
    sandbox = api.create(name=name)["sandbox_id"]
    for terminal in ("first", "a second one with a name that is long"):
        body = {"name": terminal, "argv": ["cat"]}
        api.call("POST", f"/v1/sandboxes/{sandbox}/terminals", json=body)
    shares = f"/v1/sandboxes/{sandbox}/shares"
    share = api.call("POST", shares, json={"role": "controller", "ttl": "1h"})
    async with chromium() as browser, survey(browser, share["link"], look) as at:
        page = at.page
        await expect(page.get_by_label("Your name")).to_be_visible()
        await at.check("invited")
        await page.get_by_label("Your name").fill("Somebody with a name of forty characters")
        await page.get_by_role("button", name="Join").click()
        await expect(page.locator(".pane-role")).to_be_visible()
        await at.check("guest")
        api.call("DELETE", f"{shares}/{share['share_id']}")
        await expect(page.get_by_text("has ended").first).to_be_visible()
        await at.check("guest of a revoked link")


@looks()
async def test_cards_of_an_agent_and_ended_sandboxes_hold_to_axe(look: str) -> None:
    async with chromium() as browser, scripted_server() as server:
        terminal = prepared(server)
        async with survey(browser, f"{server.url}#login={TICKET}", look) as at:
            page = at.page
            await expect(page.locator(".card-name").first).to_be_visible()
            await at.check("home with sandboxes in every state")
            await inbox(at, server)
            await cards(at, server, terminal)
            for sandbox, told in server.sandboxes.items():
                await page.goto(f"{server.url}#/sandboxes/{sandbox}")
                await expect(
                    page.get_by_role("heading", name=told["name"], exact=True)
                ).to_be_visible()
                await at.check(f"sandbox that is {told['state']}")


async def inbox(at: Survey, server: ScriptedServer) -> None:
    """What agents do, each way; the inbox with questions and without; the settings."""
    page, (first, *others) = at.page, list(server.sandboxes)
    asked = {"options": OPTIONS, "words": True, "answer": "protocol", "mode": "machine"}
    about = "a line that goes on and on " * 6
    await server.report(first, "t_9", "needs_you", question=f"May I? {about}", card="c", **asked)
    await server.report(others[1], "t_8", "needs_you", question=about, answer="terminal")
    await expect(page.get_by_role("region", name="Waiting for you")).to_be_visible()
    await at.check("home while agents wait")
    await page.goto(f"{server.url}#/inbox")
    items = page.get_by_role("list", name="Waiting for you").get_by_role("listitem")
    await expect(items).to_have_count(2)
    await at.check("inbox")
    for status in ("working", "failed", "idle", "done"):
        await server.report(others[1], "t_8", status, on=about, reason=about)
    await server.report(first, "t_9", "working", on=about)
    await expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    await at.check("inbox without an item")
    await page.goto(f"{server.url}#/notifications")
    await expect(page.get_by_role("heading", name="Notifications")).to_be_visible()
    await at.check("notifications")
    for sandbox, agent in ((first, "t_9"), (others[1], "t_8")):
        await server.report(sandbox, agent, "stopped")


def prepared(server: ScriptedServer) -> ScriptedTerminal:
    """A sandbox in each state, the first with an agent at a terminal."""
    repos = [{"repo_url": REPOSITORY, "key": "k", "branch": BRANCH, "path": "/workspace"}]
    first = server.add_sandbox(LONG, agent="claude", repos=repos)
    terminal = server.add_terminal(first, name="a-terminal-with-a-name-that-goes-on-and-on")
    for number in range(3):
        server.add_terminal(first, name=f"{number} of the others, all of them with long names")
    reason = "no loop device is free: losetup: cannot find an unused loop device"
    for state in ("provisioning", "ready", "stopped", "expired", "failed"):
        more = {"reason": reason} if state in ("expired", "failed") else {}
        server.add_sandbox(f"{LONG}-{state}", state=state, repos=repos, **more)
    return terminal


async def cards(at: Survey, server: ScriptedServer, terminal: ScriptedTerminal) -> None:
    """Cards of every kind, then the terminal of an agent at work."""
    page = at.page
    await page.goto(f"{server.url}#/sandboxes/{next(iter(server.sandboxes))}")
    await terminal.attached(1)
    running = {"type": "agent_state", "agent_state": "running", "agent": "claude"}
    await terminal.say({**running, "turn": "working"})
    await expect(page.get_by_text("Agent is running")).to_be_visible()
    await at.check("agent at work")
    for kind in KINDS:
        for state in STATES:
            title, text = f"{kind} {state}", "+ one\n- two\n[x] three\n" + "line\n" * 14
            await server.agent.put(title, kind=kind, state=state, title=title, text=text)
    for kind in ("question", "approval"):
        data = {"answerable": True}
        more = {"title": f"May I {kind}?", "state": "pending", "options": OPTIONS}
        await server.agent.put(kind, kind=kind, data=data, **more)
    if (show := page.get_by_role("button", name="Show as cards")) and await show.is_visible():
        await show.click()
    await expect(page.get_by_text("May I approval?")).to_be_visible()
    await at.check("cards")
