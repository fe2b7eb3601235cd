"""One person in front of one terminal: what they do and see, and what the server learns of it."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from playwright.async_api import Browser, ConsoleMessage, Locator, Page, Response

from .scripted import TICKET, ScriptedServer
from .scripted_terminal import ScriptedTerminal

T = TypeVar("T")
PATIENCE_SECONDS = 60
LOOKS_MS = 50
"""How often a long text is looked at. Each frame, as is usual, costs more than what is tested."""
_ERROR = re.compile(r"(Type|Range|Reference|Minified React )[Ee]rror")
_TEXT = """id => {
  const term = window.__atollTerms?.get(id);
  if (!term) return '';
  const buffer = term.buffer.active;
  let text = '';
  for (let y = 0; y < buffer.length; y += 1)
    text += (buffer.getLine(y)?.translateToString(true) ?? '') + '\\n';
  return text;
}"""
_TAP = """id => {
  const tap = window.__atollTaps.get(id);
  return {start: tap.start, end: tap.end, bytes: tap.bytes, breaks: tap.breaks, hash: tap.digest()};
}"""


@dataclass
class OpenPage:
    """See the file's head."""

    server: ScriptedServer
    page: Page
    sandbox: str
    terminal: ScriptedTerminal

    async def text(self) -> str:
        """Screen and scrollback, read from the terminal and not from pixels."""
        text: str = await self.page.evaluate(_TEXT, self.terminal.id)
        return text

    async def sees(self, words: str) -> None:
        """Waits until the words are on the screen."""
        script = f"([id, words]) => ({_TEXT})(id).includes(words)"
        await self.page.wait_for_function(script, arg=[self.terminal.id, words], polling=LOOKS_MS)

    async def notices(self, words: str) -> None:
        """Waits until the words are on the page."""
        await self.page.get_by_text(words).first.wait_for()

    async def has_all(self) -> dict[str, Any]:
        """Waits until every byte of the terminal arrived; what the tap says then."""
        script = "([id, end]) => window.__atollTaps.get(id).end >= end"
        end = len(self.terminal.output)
        await self.page.wait_for_function(script, arg=[self.terminal.id, end], polling=LOOKS_MS)
        tap: dict[str, Any] = await self.page.evaluate(_TAP, self.terminal.id)
        return tap

    def whole(self) -> str:
        """SHA-256 of everything the terminal ever printed."""
        return hashlib.sha256(self.terminal.output).hexdigest()

    async def wake(self) -> None:
        """The page comes back from sleep, which ends any waiting for a retry."""
        await self.page.evaluate("window.dispatchEvent(new Event('pageshow'))")

    async def is_fitted(self) -> None:
        """Waits until the terminal, of 80 columns at first, has the size of this page."""
        script = "id => window.__atollTerms.get(id).cols !== 80"
        await self.page.wait_for_function(script, arg=self.terminal.id)

    async def is_live(self) -> None:
        """Waits until nothing lies over the terminal."""
        await self.page.locator(".pane-notice").first.wait_for(state="detached")

    async def type(self, text: str) -> None:
        """Types into the terminal, as a person at a keyboard."""
        await self.page.locator(".pane:not([hidden]) .xterm-helper-textarea").focus()
        await self.page.keyboard.type(text)


async def opened(server: ScriptedServer, page: Page) -> OpenPage:
    """A logged-in person in front of one sandbox with one terminal."""
    sandbox = server.add_sandbox("demo", agent="claude")
    terminal = server.add_terminal(sandbox)
    await page.goto(f"{server.url}#login={TICKET}")
    await page.locator(".row").first.click()
    there = OpenPage(server, page, sandbox, terminal)
    await there.sees("$")
    return there


def is_fault(said: ConsoleMessage) -> bool:
    """Whether a line of the console is about a fault of the page: what its policy refused, or an
    error that React caught, of which nothing but the words "The page broke" is left to see."""
    if "Content Security" in said.text:
        return True
    return said.type == "error" and _ERROR.match(said.text) is not None


@asynccontextmanager
async def tab_of(browser: Browser, *, workers: bool = False) -> AsyncIterator[Page]:
    """A tab with the test hooks on, which fails its test on any script error. Without `workers` the
    page gets no service worker, whose start takes a fifth of the time of a page's. Nothing moves by
    itself: a browser that shows it draws sixty times a second."""
    context = await browser.new_context(
        viewport={"width": 1200, "height": 800},
        service_workers="allow" if workers else "block",
        reduced_motion="reduce",
    )
    await context.add_init_script("localStorage.setItem('atoll.test', '1')")
    tab = await context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda said: errors.append(said.text) if is_fault(said) else None)
    tab.set_default_timeout(60_000)
    yield tab
    await context.close()
    assert errors == []


async def begin_sandbox(page: Page) -> Locator:
    """Opens the box for a task over the page, set to a sandbox without an agent; the box."""
    await page.get_by_role("button", name="New task").first.click()
    # The first page has such a box of its own, and this one may come later.
    box = page.get_by_role("dialog", name="New task")
    form = box.get_by_role("form", name="New task")
    await form.get_by_role("checkbox", name="no agent").check()
    return form


async def sandbox_menu(page: Page) -> Locator:
    """Opens what is behind a sandbox's ⋯."""
    await page.get_by_role("button", name="More about this sandbox").click()
    return page.get_by_role("dialog", name="More about this sandbox")


async def visit(page: Page, place: str) -> None:
    """Goes to a place that is behind the rail's ⋯."""
    await page.get_by_role("button", name="More places").click()
    await page.get_by_role("dialog", name="More places").get_by_role("button", name=place).click()


async def learns(page: Page, look: Callable[[], T], wanted: T) -> None:
    """Wait until the server knows this: a key or a click returns before its request is there.
    `look` is called again after each answer to the page."""
    known = asyncio.Event()

    def answered(_: Response) -> None:
        if look() == wanted:
            known.set()

    page.on("response", answered)
    try:
        if look() != wanted:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await known.wait()
    finally:
        page.remove_listener("response", answered)
    assert look() == wanted
