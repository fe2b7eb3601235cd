"""A person's hand: keys alone at a desk, touches alone on a phone."""

import base64
from pathlib import Path
from typing import Protocol

from playwright.async_api import Locator, Page, expect

MOST_STOPS = 120
"""The stops of Tab after which something counts as out of the keyboard's reach."""
_IN_TERMINAL = "document.activeElement?.closest('.pane-screen') != null"
_ON_TAB = "document.activeElement?.getAttribute('role') === 'tab'"
#: A terminal has the size of its place a moment after that changed.
_TERMINALS_FIT = """() =>
  [...document.querySelectorAll('.pane-screen .xterm-screen')].every((one) =>
    one.getBoundingClientRect().bottom <=
    one.closest('.pane-screen').getBoundingClientRect().bottom + 1)"""
_FITS = "document.documentElement.scrollWidth <= window.innerWidth"
_AS_WEBP = """async png => {
  const seen = await fetch(`data:image/png;base64,${png}`);
  const image = await createImageBitmap(await seen.blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  canvas.getContext('2d').drawImage(image, 0, 0);
  const blob = await canvas.convertToBlob({type: 'image/webp', quality: 0.8});
  const bytes = [...new Uint8Array(await blob.arrayBuffer())];
  return btoa(bytes.map(byte => String.fromCharCode(byte)).join(''));
}"""


class Hand(Protocol):
    """How somebody uses the page."""

    name: str
    page: Page
    pointers: tuple[str, ...]
    """The kinds of pointer that this hand uses."""

    async def press(self, there: Locator) -> None:
        """Press a button, or choose what can be chosen."""

    async def write(self, there: Locator, words: str) -> None:
        """Write into an empty field."""

    async def choose(self, there: Locator, option: str) -> None:
        """Choose an option of a list by its words."""

    async def go(self, place: str, name: str = "") -> None:
        """Go home, to the inbox, or to a sandbox by its name."""

    async def tab(self, name: str) -> None:
        """Open a tab of the sandbox."""

    async def allow(self, item: Locator) -> None:
        """Allow what an item of the inbox asks for."""

    async def bring_home(self) -> None:
        """Open the dialog that brings home what the open sandbox made."""

    async def comment(self, diff: Locator, word: str, words: str) -> None:
        """Comment on the line of a diff that has this word."""


class Keys:
    """Nothing but keys."""

    name = "desk"
    pointers: tuple[str, ...] = ()

    def __init__(self, page: Page) -> None:
        self.page = page

    async def reach(self, there: Locator) -> None:
        """Move the focus there, by Tab alone."""
        await expect(there).to_be_visible()
        for back in ("Tab", "Shift+Tab"):
            for _ in range(MOST_STOPS):
                if await there.evaluate("one => one === document.activeElement"):
                    return
                await self._step(back)
        raise AssertionError(f"the keyboard does not reach {there}")

    async def _step(self, key: str) -> None:
        """Press a key; in a terminal, which keeps its keys, leave that first."""
        inside = await self.page.evaluate(_IN_TERMINAL)
        await self.page.keyboard.press("Control+Shift+Period" if inside else key)

    async def press(self, there: Locator) -> None:
        await self.reach(there)
        role = await there.evaluate("one => one.type ?? ''")
        await self.page.keyboard.press("Space" if role in ("checkbox", "radio") else "Enter")

    async def write(self, there: Locator, words: str) -> None:
        await self.reach(there)
        await self.page.keyboard.type(words)

    async def choose(self, there: Locator, option: str) -> None:
        await self.reach(there)
        await self.page.keyboard.type(option)
        chosen = there.locator("option:checked")
        await expect(chosen).to_have_text(option)

    async def go(self, place: str, name: str = "") -> None:
        words = {"home": "Home", "inbox": "Inbox", "sandbox": f"Go to {name}"}[place]
        await self.page.keyboard.press("Control+Shift+K")
        field = self.page.get_by_role("combobox", name="Find a command")
        await expect(field).to_be_focused()
        await self.page.keyboard.type(words)
        await self.page.keyboard.press("Enter")
        await expect(field).to_have_count(0)

    async def tab(self, name: str) -> None:
        tab = self.page.get_by_role("tab", name=name)
        await expect(tab).to_be_visible()
        for _ in range(MOST_STOPS):
            if await tab.evaluate("one => one === document.activeElement"):
                break
            await self._step("ArrowRight" if await self.page.evaluate(_ON_TAB) else "Tab")
        await self.page.keyboard.press("Enter")
        await expect(tab).to_have_attribute("aria-selected", "true")

    async def allow(self, item: Locator) -> None:
        await expect(item).to_be_visible()
        while await item.get_attribute("aria-current") != "true":
            await self.page.keyboard.press("j")
        while await item.count():
            await self.page.keyboard.press("y")
            await self.page.wait_for_timeout(200)  # a key that was taken has no effect at once

    async def bring_home(self) -> None:
        await self.press(self.page.get_by_role("button", name="More about this sandbox"))
        await self.press(self.page.get_by_role("button", name="Pull", exact=True))

    async def comment(self, diff: Locator, word: str, words: str) -> None:
        keys = self.page.keyboard
        for _ in range(MOST_STOPS):
            if word in await diff.locator(".diff-here").first.inner_text():
                break
            await keys.press("ArrowDown")
        else:
            at = await self.page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
            raise AssertionError(f"no line with {word}; the focus is at {at}")
        await keys.press("c")
        await expect(self.page.get_by_role("textbox", name="Comment")).to_be_focused()
        await keys.type(words)
        await keys.press("Control+Enter")


class Touch:
    """Nothing but touches, and the phone's own keyboard in a field."""

    name = "phone"
    pointers: tuple[str, ...] = ("touch",)

    def __init__(self, page: Page) -> None:
        self.page = page

    async def press(self, there: Locator) -> None:
        await there.tap()

    async def write(self, there: Locator, words: str) -> None:
        await there.tap()
        await expect(there).to_be_focused()
        await self.page.keyboard.type(words)

    async def choose(self, there: Locator, option: str) -> None:
        # The list of options is the phone's own: it is no part of the page.
        await there.focus()
        await there.select_option(label=option)

    async def go(self, place: str, name: str = "") -> None:
        await self.page.get_by_role("button", name="Sandboxes").tap()
        rail = self.page.get_by_role("navigation", name="Sandboxes")
        there = {
            "home": rail.get_by_role("link", name="Atoll"),
            "inbox": rail.get_by_role("button", name="Inbox"),
            "sandbox": rail.locator(".row", has_text=name),
        }[place]
        await there.tap()

    async def tab(self, name: str) -> None:
        tab = self.page.get_by_role("tab", name=name)
        await tab.tap()
        await expect(tab).to_have_attribute("aria-selected", "true")

    async def allow(self, item: Locator) -> None:
        await item.get_by_role("button", name="Allow").first.tap()

    async def bring_home(self) -> None:
        await self.page.get_by_role("button", name="More about this sandbox").tap()
        await self.page.get_by_role("button", name="Pull", exact=True).tap()

    async def comment(self, diff: Locator, word: str, words: str) -> None:
        row = diff.locator(".diff-row", has_text=word).first
        await row.get_by_role("button", name="Comment on line").first.tap()
        field = self.page.get_by_role("textbox", name="Comment")
        await expect(field).to_be_focused()
        await self.page.keyboard.type(words)
        await self.page.get_by_role("button", name="Add comment").tap()


async def watch_pointers(page: Page) -> None:
    """Begin to note what kinds of pointer somebody uses."""
    await page.evaluate(
        "window.pointers = new Set();"
        "addEventListener('pointerdown', one => window.pointers.add(one.pointerType), true)"
    )


async def used_pointers(page: Page) -> tuple[str, ...]:
    """Return the kinds of pointer that were used since."""
    return tuple(await page.evaluate("[...window.pointers]"))


async def fits(page: Page) -> None:
    """Nothing lies beside the screen."""
    await page.wait_for_function(_FITS)


async def picture(page: Page, to: Path) -> None:
    """Keep what is on the screen, as WebP: a fourth of the bytes of a PNG."""
    to.parent.mkdir(parents=True, exist_ok=True)
    await page.wait_for_function(_TERMINALS_FIT)
    seen = await page.screenshot(animations="disabled", caret="initial")
    blank = await page.context.new_page()
    small = await blank.evaluate(_AS_WEBP, base64.b64encode(seen).decode())
    await blank.close()
    to.write_bytes(base64.b64decode(small))
