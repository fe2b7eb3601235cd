"""Several terminals in view at a real Atoll's page: split, zoomed, on the wall, all by keyboard."""

import re

import pytest
from playwright.async_api import Locator, Page, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import owner, role
from tests.e2e.page.test_real_page import Terminal
from tests.peers.api import Api
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]


DROP = """() => {
  const data = new DataTransfer();
  data.items.add(new File(['dropped'], 'my shot.png'));
  const screen = document.querySelector('.pane-active .pane-screen');
  screen.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true}));
}"""

#: Whether the second tile shows the end of a screen that is higher than the tile.
NEWEST = "() => document.querySelectorAll('.tile-screen .pane-screen')[1]?.scrollTop > 40"


def panes(page: Page) -> Locator:
    return page.locator(".pane:not([hidden])")


async def test_terminals_are_split_zoomed_and_opened_from_the_wall_by_keyboard(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="split")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        await role(ann, "You drive")
        await Terminal(ann, terminal).type("first\r")
        bar = ann.locator(".pane-bar").filter(visible=True)
        await is_alone_for_a_while(ann, bar)
        await ann.keyboard.press("Control+Shift+D")
        await expect(panes(ann)).to_have_count(2)
        await expect(bar).to_have_count(2)
        await expect(ann.locator(".pane-active .pane-role")).to_have_text("You drive")
        shell = ann.locator(".pane-active")
        await ann.keyboard.type("ls --color=always -d /usr /etc/passwd\r")
        await shell.get_by_role("button", name="Show as cards").click()
        await expect(shell.locator(".block-out .sgr-bold")).to_have_text("/usr")
        font = re.compile('^"?Atoll Mono')
        await expect(shell.locator(".block-out").first).to_have_css("font-family", font)
        await shell.get_by_role("button", name="Run again").click()
        await expect(shell.locator(".block").filter(has_text="exit 0")).to_have_count(2)
        await shell.get_by_role("button", name="Show the terminal").click()
        await ann.keyboard.press("Control+Shift+ArrowLeft")
        await expect(ann).to_have_url(re.compile(f"{terminal}$"))
        await ann.keyboard.type("typed left\r")
        await Terminal(ann, terminal).sees("typed left")
        await ann.keyboard.press("Control+Shift+Period")
        await ann.keyboard.press("F2")
        await ann.keyboard.type("the cat")
        await ann.keyboard.press("Enter")
        tabs = ann.locator(".tab-words")
        await expect(tabs).to_have_text(["the cat", "bash"])
        await ann.get_by_role("tab", name="the cat").press("Alt+ArrowRight")
        await expect(tabs).to_have_text(["bash", "the cat"])
        await ann.keyboard.press("Enter")
        await ann.evaluate(DROP)
        await Terminal(ann, terminal).sees("-my_shot.png")
        await ann.keyboard.press("Control+Shift+Enter")
        await expect(panes(ann)).to_have_count(1)
        await expect(bar).to_have_count(1)
        await ann.keyboard.press("Control+Shift+Enter")
        await expect(panes(ann)).to_have_count(2)
        await comes_back_from_the_wall(ann, terminal)


async def is_alone_for_a_while(ann: Page, bar: Locator) -> None:
    """One terminal and one line above it; then all of the page again."""
    around = ann.locator(".rail, .sandbox-head").filter(visible=True)
    await expect(bar).to_have_count(1)
    await ann.keyboard.press("Control+Shift+Enter")
    await expect(around).to_have_count(0)
    await expect(bar).to_have_count(1)
    await ann.keyboard.press("Control+Shift+Enter")
    await expect(around).to_have_count(2)


async def comes_back_from_the_wall(ann: Page, terminal: str) -> None:
    """From the second pane to its tile, and on to the first pane."""
    await ann.keyboard.press("Control+Shift+ArrowRight")
    await ann.keyboard.type("seq 99\r")
    await ann.keyboard.press("Control+Shift+L")
    tiles = ann.locator(".tile-face")
    await expect(tiles).to_have_count(2)
    await expect(tiles.nth(1)).to_be_focused()
    await ann.wait_for_function(NEWEST)
    await Terminal(ann, terminal).sees("typed left")
    await ann.keyboard.press("ArrowLeft")
    await ann.keyboard.press("Enter")
    await expect(panes(ann)).to_have_count(2)


async def test_another_window_of_the_same_person_drives_by_typing(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="windows")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    async with (
        chromium() as browser,
        owner(browser, server, sandbox, terminal) as one,
        owner(browser, server, sandbox, terminal) as other,
    ):
        await role(one, "You drive")
        await role(other, "you drive elsewhere")
        await Terminal(other, terminal).type("from the other\r")
        await Terminal(one, terminal).sees("from the other")
        await role(other, "You drive")
        await role(one, "you drive elsewhere")
