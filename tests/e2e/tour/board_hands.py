"""Hands at a dashboard: a mouse alone, and keys alone. Words are typed by both."""

from typing import Protocol

from playwright.async_api import Locator, Page, expect

from tests.e2e.tour.hand import Hand, Keys

#: A place of the plane where nothing lies.
_GROUND = """() => {
  const {left, top, width, height} = document.querySelector('.canvas').getBoundingClientRect();
  for (let y = top + 20; y < top + height; y += 20)
    for (let x = left + 20; x < left + width; x += 40)
      if (document.elementFromPoint(x, y)?.matches('.canvas')) return [x, y];
  return null;
}"""
#: Everything that is pressed but the characters of a text, and every kind of pointer.
WATCH = """
  window.used = {pointers: new Set(), keys: new Set()};
  addEventListener('pointerdown', ({pointerType}) => used.pointers.add(pointerType), true);
  addEventListener('keydown', ({key, target}) => {
    const typed = 'input, textarea, [contenteditable=true]';
    if (key.length > 1 || !target.closest?.(typed)) used.keys.add(key);
  }, true);
"""


class BoardHand(Hand, Protocol):
    """How somebody uses a dashboard."""

    async def check(self) -> None:
        """Fail where anything but this hand was used on the page."""

    async def pick(self, radio: Locator) -> None:
        """Choose one of a few choices side by side."""

    async def dashboards(self) -> None:
        """Open the list of dashboards."""

    async def make(self, kind: str) -> None:
        """Make an item on the open dashboard, and be in it."""

    async def enter(self, item: Locator) -> None:
        """Go into an item."""

    async def leave(self) -> None:
        """Go out of the item, and choose nothing."""

    async def within(self, item: Locator, words: str) -> None:
        """Press a button of an item."""

    async def tool(self, item: Locator, words: str) -> None:
        """Press a button in the line of tools of the terminal that one is in."""

    async def reply(self, item: Locator, words: str) -> None:
        """Press a button of what is asked in the terminal that one is in."""


class Mouse:
    """Nothing but a mouse, beside the words of a text."""

    name = "mouse"
    pointers: tuple[str, ...] = ("mouse",)

    def __init__(self, page: Page) -> None:
        self.page = page

    async def check(self) -> None:
        assert await _used(self.page) == [["mouse"], []]

    async def press(self, there: Locator) -> None:
        await there.click()

    async def write(self, there: Locator, words: str) -> None:
        await there.click()
        await expect(there).to_be_focused()
        await self.page.keyboard.type(words)

    async def choose(self, there: Locator, option: str) -> None:
        # The list of options is the browser's own: it is no part of the page.
        await there.hover()
        await there.select_option(label=option)

    async def pick(self, radio: Locator) -> None:
        await radio.locator("xpath=..").click()
        await expect(radio).to_be_checked()

    async def go(self, place: str, name: str = "") -> None:
        rail = self.page.get_by_role("navigation", name="Sandboxes")
        there = {
            "home": rail.get_by_role("link", name="Atoll"),
            "inbox": rail.get_by_role("button", name="Inbox"),
            "sandbox": rail.locator(".row", has_text=name),
        }[place]
        await there.click()

    async def tab(self, name: str) -> None:
        await self.page.get_by_role("tab", name=name).click()

    async def allow(self, item: Locator) -> None:
        await item.get_by_role("button", name="Allow").first.click()

    async def bring_home(self) -> None:
        await self.page.get_by_role("button", name="More about this sandbox").click()
        await self.page.get_by_role("button", name="Pull", exact=True).click()

    async def comment(self, diff: Locator, word: str, words: str) -> None:
        row = diff.locator(".diff-row", has_text=word).first
        await row.get_by_role("button", name="Comment on line").first.click()
        await expect(self.page.get_by_role("textbox", name="Comment")).to_be_focused()
        await self.page.keyboard.type(words)
        await self.page.get_by_role("button", name="Add comment").click()

    async def dashboards(self) -> None:
        rail = self.page.get_by_role("navigation", name="Sandboxes")
        await rail.get_by_role("button", name="Dashboards").click()

    async def make(self, kind: str) -> None:
        tools = self.page.get_by_role("toolbar", name="Tools")
        await tools.get_by_role("button", name=f"New {kind}").click()

    async def enter(self, item: Locator) -> None:
        await item.locator(".item-body").click()

    async def leave(self) -> None:
        place = await self.page.evaluate(_GROUND)
        assert place is not None, "the window shows no ground"
        await self.page.mouse.click(*place)

    async def within(self, item: Locator, words: str) -> None:
        await item.get_by_role("button", name=words, exact=True).click()

    async def tool(self, item: Locator, words: str) -> None:
        await item.locator(".item-slot").get_by_role("button", name=words).click()

    async def reply(self, item: Locator, words: str) -> None:
        await item.get_by_role("alert").get_by_role("button", name=words).click()


_ENTERED = """document.activeElement?.matches('[data-item] *') === true"""


class BoardKeys(Keys):
    """Nothing but keys."""

    name = "keys"

    async def check(self) -> None:
        pointers, _ = await _used(self.page)
        assert pointers == []

    async def pick(self, radio: Locator) -> None:
        group = radio.locator("xpath=ancestor::fieldset[1]")
        await self.reach(group.get_by_role("radio", checked=True))
        while not await radio.is_checked():
            await self.page.keyboard.press("ArrowRight")

    async def dashboards(self) -> None:
        await self.command("Dashboards")

    async def command(self, words: str) -> None:
        """Run a command of the palette."""
        await self.page.keyboard.press("Control+Shift+K")
        field = self.page.get_by_role("combobox", name="Find a command")
        await expect(field).to_be_focused()
        await self.page.keyboard.type(words)
        await self.page.keyboard.press("Enter")
        await expect(field).to_have_count(0)

    async def make(self, kind: str) -> None:
        await self.command(f"New {kind}")

    async def enter(self, item: Locator) -> None:
        if await self.page.evaluate(_ENTERED):
            await self.leave()
        await self.reach(item)
        await self.page.keyboard.press("Enter")

    async def leave(self) -> None:
        inside = await self.page.evaluate("document.activeElement?.closest('.pane-screen') != null")
        await self.page.keyboard.press("Control+Shift+Period" if inside else "Escape")
        await expect(self.page.locator("[data-item]:focus")).to_have_count(1)

    async def within(self, item: Locator, words: str) -> None:
        await self.enter(item)
        await self.press(item.get_by_role("button", name=words, exact=True))

    async def reply(self, item: Locator, words: str) -> None:
        await self.leave()
        await self.page.keyboard.press("Shift+Enter")
        await expect(item.get_by_role("alert").locator(":focus")).to_have_count(1)
        await self.press(item.get_by_role("alert").get_by_role("button", name=words))

    async def tool(self, item: Locator, words: str) -> None:
        await self.leave()
        await self.page.keyboard.press("Shift+Enter")
        await expect(item.locator(".item-slot :focus")).to_have_count(1)
        await self.press(item.locator(".item-slot").get_by_role("button", name=words))

    async def comment(self, diff: Locator, word: str, words: str) -> None:
        await self.reach(diff)
        await super().comment(diff, word, words)


async def _used(page: Page) -> list[list[str]]:
    used: list[list[str]] = await page.evaluate("[[...used.pointers], [...used.keys]]")
    return used
