import time
from functools import partial
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from tests.e2e.page.test_people import PHONE_SCREEN
from tests.peers.browsers import CALM

from .open_page import OpenPage, visit
from .scripted import TICKET, ScriptedServer
from .scripted_terminal import ScriptedTerminal

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FOCUSED = """() => {
  const at = document.activeElement;
  return at.getAttribute('aria-label') || at.innerText?.split('\\n')[0] || '';
}"""

#: The width of a terminal's screen, and how much of it can be in view.
SIZES = """() => ({
  all: document.querySelector('.pane-screen .xterm-screen').offsetWidth,
  seen: document.querySelector('.pane-screen').clientWidth,
})"""


async def test_palette_finds_and_runs_a_command(open_page: OpenPage) -> None:
    page = open_page.page
    await page.locator(".rail-new").focus()
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("combobox", name="Find a command or sandbox")).to_be_focused()
    await page.keyboard.type("new claude")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tab", name="claude")).to_have_attribute("aria-selected", "true")
    # The theme is remembered.
    await visit(page, "Switch to dark colours")
    await page.reload()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


async def test_palette_in_terminal_leaves_control_k_to_the_program(open_page: OpenPage) -> None:
    await open_page.type("")
    await open_page.page.keyboard.press("Control+k")
    await open_page.page.keyboard.type("z")
    await open_page.sees("$ z")
    assert bytes(open_page.terminal.typed) == b"\x0bz"
    await open_page.page.keyboard.press("Control+Shift+K")
    await expect(
        open_page.page.get_by_role("combobox", name="Find a command or sandbox")
    ).to_be_visible()
    await open_page.page.keyboard.press("Escape")
    await expect(open_page.page.locator(".xterm-helper-textarea")).to_be_focused()


async def test_page_is_usable_by_tab_alone(open_page: OpenPage) -> None:
    page = open_page.page
    await page.reload()
    await open_page.sees("$")
    # The page opens inside the terminal; its way out leads to the tabs, and from there on.
    await page.keyboard.press("Control+Shift+Period")
    reached = set()
    for _ in range(30):
        reached.add(await page.evaluate(FOCUSED))
        await page.keyboard.press("Shift+Tab")
    await page.get_by_role("tab", name="bash").focus()
    for _ in range(14):
        reached.add(await page.evaluate(FOCUSED))
        await page.keyboard.press("Tab")
    assert {"Skip to the sandbox", "Search or jump", "New task", "demo"} <= reached
    assert {"More about this sandbox", "bash", "New terminal"} <= reached
    assert "Search (Ctrl Shift F)" in reached
    await page.get_by_role("button", name="More about this sandbox").press("Enter")
    for _ in range(12):
        reached.add(await page.evaluate(FOCUSED))
        await page.keyboard.press("Tab")
    assert {"Stop", "Destroy"} <= reached


async def test_phone_fits_its_screen_and_types_by_touch(
    server: ScriptedServer, browser: Browser
) -> None:
    sandbox = server.add_sandbox("pocket")
    terminal = server.add_terminal(sandbox)
    open_page = await on_phone(server, browser, sandbox, terminal)
    page = open_page.page
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390
    small = """() => [...document.querySelectorAll('.stage button, .touch-keys button')]
      .map(b => [b.ariaLabel ?? b.innerText, b.getBoundingClientRect()])
      .filter(([, r]) => r.width > 0 && (r.height < 44 || r.width < 44)).map(([name]) => name)"""
    assert await page.evaluate(small) == []
    await page.get_by_label("Type a line").fill("echo by touch")
    await page.get_by_role("button", name="Send").tap()
    await open_page.sees("\nby touch\n")
    await page.get_by_role("button", name="Control C").tap()
    await page.get_by_role("button", name="Enter").tap()
    await terminal.received(b"\x03\r")
    # A phone never takes the size without being asked.
    assert terminal.sizes == []
    await page.get_by_role("button", name="Fit the terminal").tap()
    await page.wait_for_function("id => window.__atollTerms.get(id).cols < 60", arg=terminal.id)
    # One terminal is all there is: nothing else can be put away.
    await page.locator(".xterm-helper-textarea").focus()
    await page.keyboard.press("Control+Shift+Enter")
    await expect(page.locator(".spoken")).not_to_contain_text("This terminal alone")
    await page.context.close()


async def test_phone_shows_eighty_columns_and_a_finger_moves_a_larger_screen(
    server: ScriptedServer, browser: Browser
) -> None:
    sandbox = server.add_sandbox("pocket")
    terminal = server.add_terminal(sandbox)
    open_page = await on_phone(server, browser, sandbox, terminal)
    page = open_page.page
    await page.wait_for_function(f"() => ({SIZES})().all <= ({SIZES})().seen")
    terminal.cols, terminal.rows = 160, 80
    await terminal.say({"type": "size", "cols": 160, "rows": 80})
    await page.locator(".pane-pans").wait_for()
    to_a_pixel = partial(pytest.approx, abs=1)  # a browser foresees the next move
    assert await by_finger(page, -150, 0) == to_a_pixel([150, 0])
    assert await by_finger(page, 0, -100) == to_a_pixel([150, 100])
    assert await by_finger(page, 90, 0) == to_a_pixel([60, 100])
    await page.context.close()


async def on_phone(
    server: ScriptedServer, browser: Browser, sandbox: str, terminal: ScriptedTerminal
) -> OpenPage:
    """Somebody with a phone in front of a terminal."""
    context = await browser.new_context(**CALM, **PHONE_SCREEN)
    await context.add_init_script("localStorage.setItem('atoll.test', '1')")
    page = await context.new_page()
    await page.goto(f"{server.url}#login={TICKET}")
    await page.get_by_role("button", name="Sandboxes").tap()
    await page.locator(".row").tap()
    open_page = OpenPage(server, page, sandbox, terminal)
    await open_page.sees("$")
    return open_page


async def by_finger(page: Page, right: int, down: int) -> list[int]:
    """Where the screen is after a finger moved it."""
    devices = await page.context.new_cdp_session(page)
    began = time.time() - 2
    await devices.send("Input.dispatchTouchEvent", _touch("touchStart", began, 0, 0))
    # Slow at its end: the browser goes on by the finger's speed, and a finger that rests has none.
    for after, part in ((0.1, 0.5), (0.2, 0.98), (0.7, 0.99), (1.2, 1.0)):
        move = _touch("touchMove", began + after, right * part, down * part)
        await devices.send("Input.dispatchTouchEvent", move)
    end = {"type": "touchEnd", "touchPoints": [], "timestamp": began + 1.8}
    await devices.send("Input.dispatchTouchEvent", end)
    screen = page.locator(".pane-screen")
    place: list[int] = await screen.evaluate("one => [one.scrollLeft, one.scrollTop]")
    return place


def _touch(kind: str, at: float, right: float, down: float) -> dict[str, Any]:
    point = {"x": 200 + right, "y": 500 + down}
    return {"type": kind, "touchPoints": [point], "timestamp": at}


async def test_tabs_are_walked_chosen_and_closed_by_the_keyboard_alone(open_page: OpenPage) -> None:
    page = open_page.page
    await page.get_by_role("button", name="New agent").click()
    await page.get_by_role("button", name="New claude terminal").click()
    first, other = page.get_by_role("tab", name="bash"), page.get_by_role("tab", name="claude")
    await expect(other).to_have_attribute("aria-selected", "true")
    await first.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.get_by_role("tab", name="Recordings")).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(first).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(other).to_be_focused()
    await expect(other).to_have_css("outline-style", "solid")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("tabpanel", name="claude")).to_be_visible()
    await other.focus()
    await page.keyboard.press("Delete")
    dialog = page.get_by_role("alertdialog", name="Close this terminal?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    for _ in range(4):
        await page.keyboard.press("Tab")
        await expect(dialog.locator(":focus")).to_have_count(1)
    await dialog.get_by_role("button", name="Close terminal").press("Enter")
    await expect(other).to_have_count(0)
    await expect(page.locator(".pane:not([hidden]) .xterm-helper-textarea")).to_be_focused()
