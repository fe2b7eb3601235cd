"""A person at the page of a real Atoll, from the printed link to a restart in mid-flood."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Page, TimeoutError, expect

from atoll.testing.server import TestServer, test_server
from tests.peers.api import Api, api_of
from tests.peers.browsers import CALM, chromium, needs_chromium
from tests.peers.terminal_client import attached

from .ui.open_page import LOOKS_MS, begin_sandbox

LINK = re.compile(r"http\S+/#login=\S+")
PROMPT = re.compile(rb"\$ (?:\x1b\]633;B[^\x07]*\x07)?\Z")
NUMBERS = 500_000
#: All these at once, and then a hundred at a time until somebody says that it is over.
FLOOD = (
    f"seq 1 {NUMBERS}; n={NUMBERS}; "
    "while [ ! -e over ]; do seq $((n + 1)) $((n += 100)); sleep 0.05; done; echo al''l there\r"
)
LAST = re.compile(rb"(\d+)\r\nall there")
FLOOD_MILLISECONDS = 180_000

PDF = b"""%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R /OpenAction <</S /JavaScript /JS (app.alert(1))>>>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R>> endobj
4 0 obj <</Length 27>> stream
1 0 0 rg 0 0 300 200 re f
endstream endobj
trailer <</Root 1 0 R>>
%%EOF
"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

_TEXT = """([id, words]) => {
  const buffer = window.__atollTerms?.get(id)?.buffer.active;
  for (let y = 0; y < (buffer?.length ?? 0); y += 1)
    if (buffer.getLine(y)?.translateToString(true).includes(words)) return true;
  return false;
}"""
_TAP = """id => {
  const tap = window.__atollTaps.get(id);
  return {start: tap.start, end: tap.end, bytes: tap.bytes, breaks: tap.breaks, hash: tap.digest()};
}"""


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server() as started:
        yield started


async def tab(browser: Browser, address: str, *, calm: bool = True) -> Page:
    """Somebody's own browser, at this address; with a service worker, and moving, unless `calm`."""
    kind = CALM if calm else {}
    context = await browser.new_context(viewport={"width": 1200, "height": 800}, **kind)
    await context.add_init_script("localStorage.setItem('atoll.test', '1')")
    page = await context.new_page()
    page.set_default_timeout(90_000)
    await page.goto(address)
    return page


@dataclass
class Terminal:
    """One terminal on somebody's page."""

    page: Page
    id: str

    async def type(self, keys: str) -> None:
        await self.page.locator(".pane:not([hidden]) .xterm-helper-textarea").focus()
        await self.page.keyboard.type(keys)

    async def sees(self, words: str) -> None:
        await self.page.wait_for_function(_TEXT, arg=[self.id, words], polling=LOOKS_MS)

    async def has(self, offset: int) -> dict[str, Any]:
        """What the page received, once it received that much."""
        script = "([id, end]) => window.__atollTaps?.get(id)?.end >= end"
        try:
            await self.page.wait_for_function(
                script, arg=[self.id, offset], timeout=FLOOD_MILLISECONDS, polling=LOOKS_MS
            )
        except TimeoutError as late:
            notices = await self.page.locator(".pane-notice").all_inner_texts()
            held = await self.page.evaluate(_TAP, self.id)
            raise AssertionError(f"{held} of {offset} bytes; {notices}") from late
        tap: dict[str, Any] = await self.page.evaluate(_TAP, self.id)
        return tap


async def create(page: Page, name: str, *, here: bool = False) -> None:
    """A new sandbox by the box for a task, until its terminal is open."""
    form = await begin_sandbox(page)
    await form.get_by_role("button", name="Repository").click()
    choices = page.get_by_role("list", name="Repositories").get_by_role("button")
    none = choices.filter(has_text="No repository")
    # What is here comes later than the choice of none.
    await (choices.filter(has_not_text="No repository") if here else none).click()
    await form.get_by_label("Name").fill(name)
    await form.get_by_role("button", name="Create sandbox").click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()
    await page.get_by_role("button", name="Open a terminal").click()
    await expect(page.get_by_role("tab", selected=True)).to_contain_text("bash")


def only_terminal(api: Api, sandbox: str) -> str:
    (one,) = api.call("GET", f"/v1/sandboxes/{sandbox}/terminals")["terminals"]
    return str(one["terminal_id"])


async def test_printed_link_logs_in_once_and_without_one_the_page_says_how(
    server: TestServer,
) -> None:
    (link,) = LINK.findall(server.log.read_text())
    async with chromium() as browser:
        stranger = await tab(browser, server.url)
        await expect(stranger.get_by_role("heading", name="Log in to Atoll")).to_be_visible()
        await expect(stranger.get_by_text("atoll login")).to_be_visible()
        person = await tab(browser, link, calm=False)
        await expect(person.get_by_role("button", name="New task")).to_be_visible()
        late = await tab(browser, link)
        await expect(late.get_by_role("alert")).to_contain_text("used already")
        done = await asyncio.to_thread(server.run, "login")
        invited = await tab(browser, LINK.findall(done.stdout)[0])
        await expect(invited.get_by_role("button", name="New task")).to_be_visible()


async def test_page_makes_sandboxes_with_and_without_a_repository(
    server: TestServer, repository: Path
) -> None:
    words = ("new", str(repository), "--name", "by-hand", "--detach", "--json")
    done = await asyncio.to_thread(server.run, *words)
    assert json.loads(done.stdout)["state"] in ("ready", "active"), done.stderr
    async with chromium() as browser:
        page = await tab(browser, LINK.findall(server.log.read_text())[0])
        with api_of(server) as api:
            await create(page, "plain")
            terminal = Terminal(page, only_terminal(api, "plain"))
            await terminal.type("echo $((6 * 7)) and on\r")
            await terminal.sees("42 and on")
            await create(page, "from-here", here=True)
            terminal = Terminal(page, only_terminal(api, "from-here"))
            await terminal.type("cat README.md; git status | head -1\r")
            await terminal.sees("# project")
            await terminal.sees("On branch")
            await follows_files(page, api)


async def follows_files(page: Page, api: Api) -> None:
    """What happens inside shows in the tree, the viewer, a search and the commits."""

    async def run(line: str) -> None:
        body = {"argv": ["sh", "-c", line]}
        await asyncio.to_thread(api.call, "POST", "/v1/sandboxes/from-here/exec", json=body)

    await page.get_by_role("tab", name="Files").click()
    await expect(page.locator(".files-note")).to_have_count(0)
    await run("mkdir made; seq 300000 > made/numbers")
    folder = page.get_by_role("treeitem", name="made")
    await folder.click()
    await page.get_by_role("treeitem", name="numbers").click()
    await expect(page.locator(".viewer-line").first).to_have_text("11")
    await run("rm -r made")
    await expect(folder).to_have_count(0)
    await page.get_by_role("tree").press("Control+f")
    await page.get_by_label("Search in").select_option("text")
    await page.get_by_label("Search for").fill("# PROJECT")
    await page.locator(".files-result").click()
    await expect(page.locator(".viewer-here")).to_contain_text("# project")
    await page.keyboard.press("Escape")
    await draws_a_pdf_without_an_origin(page, api)
    await page.get_by_role("tab", name="Commits").click()
    await page.get_by_role("option").first.click()
    await expect(page.locator(".diff-added").first).to_be_visible()


async def draws_a_pdf_without_an_origin(page: Page, api: Api) -> None:
    """A PDF is a picture in a frame that reaches nothing of ours."""
    path = "/v1/sandboxes/from-here/files/content?path=paper.pdf"
    await asyncio.to_thread(api.call, "PUT", path, content=PDF)
    await page.get_by_role("treeitem", name="paper.pdf").click()
    await expect(page.locator(".viewer-pdf")).to_contain_text("1 page")
    await page.frame_locator("iframe").locator("canvas").wait_for()
    frame = page.frames[-1]
    red = "[...document.querySelector('canvas').getContext('2d').getImageData(9, 9, 1, 1).data]"
    await frame.wait_for_function(f"{red}[1] === 0")
    assert await frame.evaluate(f"[origin, {red}]") == ["null", [255, 0, 0, 255]]
    reach = "['localStorage', 'document.cookie', 'parent.document'].filter((name) => {"
    reach += "try { name.split('.').reduce((at, one) => at[one], window); return true }"
    reach += "catch { return false } })"
    assert await frame.evaluate(reach) == []
    assert await frame.evaluate("fetch('/healthz').then(() => 1, () => 0)") == 0


async def test_page_resumes_a_flood_over_a_killed_control_plane_without_a_wrong_byte(
    server: TestServer,
) -> None:
    port = int(server.url.rpartition(":")[2])
    async with chromium() as browser:
        page = await tab(browser, LINK.findall(server.log.read_text())[0], calm=False)
        with api_of(server) as api:
            await create(page, "flood")
            terminal = Terminal(page, only_terminal(api, "flood"))
            socket = api.box(api.sandbox("flood")["sandbox_id"]).socket
        await terminal.sees("$")
        async with straight(socket, terminal.id) as observer:
            watching = await second_browser(server, browser, page.url)
            await terminal.type(FLOOD)
            await terminal.has(1_000_000)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start, port)
            with api_of(server) as api:
                api.run("flood", "touch over")
            await observer.sees(b"all there", seconds=90)
            # The prompt, and behind it the shell's mark that it is over.
            await observer.until(lambda one: PROMPT.search(one.output[-64:]) is not None)
            expected = printed(bytes(observer.output))
            tap = await terminal.has(len(expected))
            assert not tap["breaks"]
            assert (tap["start"], tap["bytes"]) == (0, len(expected))
            assert tap["hash"] == hashlib.sha256(expected).hexdigest()
            await Terminal(watching, terminal.id).sees("all there")
            await terminal.type("echo and go''es on\r")
            await Terminal(watching, terminal.id).sees("and goes on")


def printed(seen: bytes) -> bytes:
    """All that the terminal printed: what a watcher saw around the flood, whose middle a slow one
    may have missed, and the flood."""
    last = LAST.findall(seen)[-1]
    numbers = b"".join(b"%d\r\n" % n for n in range(1, int(last) + 1))
    before, _, _ = seen.partition(numbers[:64])
    _, _, behind = seen.rpartition(numbers[-64:])
    return before + numbers + behind


@asynccontextmanager
async def straight(socket: str, terminal: str) -> AsyncIterator[Any]:
    """A watcher at the runtime itself, whom no death of a control plane reaches."""
    connector = aiohttp.UnixConnector(socket)
    url = f"http://runtime/sessions/{terminal}/attach"
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        attached(session, url, "straight", acks=False) as observer,
    ):
        await observer.sees(b"$ ")
        yield observer


async def second_browser(server: TestServer, browser: Browser, address: str) -> Page:
    """Another browser in front of the same terminal; it watches."""
    done = await asyncio.to_thread(server.run, "login")
    page = await tab(browser, LINK.findall(done.stdout)[0])
    await expect(page.get_by_role("button", name="New task")).to_be_visible()
    await page.goto(address)
    await expect(page.get_by_text("Watching")).to_be_visible()
    return page
