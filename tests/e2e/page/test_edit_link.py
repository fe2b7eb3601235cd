"""A guest with an edit link: writes and comments, types when given control, and is gone when the
link is."""

import asyncio
from typing import Literal

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_axe import AXE, Survey
from tests.e2e.page.test_people import guest, person
from tests.e2e.page.test_real_page import LINK, Terminal
from tests.peers.api import Api
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120), needs_chromium]


async def test_guest_edits_types_when_given_control_and_is_gone_with_the_link(
    server: TestServer, api: Api
) -> None:
    board = api.call("POST", "/v1/dashboards", json={"name": "Plan"})["id"]
    done = await asyncio.to_thread(server.run, "login")
    async with chromium() as browser, person(browser, LINK.findall(done.stdout)[0]) as ann:
        await expect(ann.locator(".rail")).to_have_count(1)
        await ann.goto(f"{server.url}/#/dashboards/{board}")
        await expect(ann.get_by_text("Saved", exact=True)).to_be_visible()
        await ann.get_by_role("application").press("t")
        await expect(ann.locator("[data-kind=terminal] .xterm-screen")).to_be_visible()
        link = await _edit_link(ann)
        async with guest(browser, link, "Carl") as carl:
            await _write(ann, carl)
            view = await asyncio.to_thread(api.call, "GET", f"/v1/dashboards/{board}")
            place = f"/v1/sandboxes/{view['sandbox_id']}/terminals"
            (one,) = (await asyncio.to_thread(api.call, "GET", place))["terminals"]
            await _type(Terminal(ann, one["terminal_id"]), Terminal(carl, one["terminal_id"]))
            await _revoke(ann, carl)


async def _edit_link(ann: Page) -> str:
    await ann.get_by_role("button", name="Share", exact=True).click()
    dialog = ann.get_by_role("dialog", name="Share")
    await dialog.get_by_role("radio", name="Can edit").click()
    await dialog.get_by_label("They may watch its terminals, and type").check()
    await dialog.get_by_role("button", name="Make a link").click()
    link = await dialog.get_by_role("textbox", name="Link to this dashboard").input_value()
    await expect(dialog.get_by_text("Can edit, with terminals")).to_be_visible()
    await ann.keyboard.press("Escape")
    return link


async def _write(ann: Page, carl: Page) -> None:
    """A guest makes a note and comments; no tool of theirs starts anything."""
    await expect(carl.get_by_text("You may edit")).to_be_visible()
    tools = carl.get_by_role("toolbar", name="Tools")
    await expect(tools.get_by_role("button", name="New note")).to_be_visible()
    for words in ("New terminal", "New agent"):
        await expect(tools.get_by_role("button", name=words)).to_have_count(0)
    await carl.get_by_role("application").press("t")
    await carl.get_by_role("application").press("a")
    await carl.get_by_role("application").press("n")
    await carl.keyboard.type("by a guest")
    await carl.keyboard.press("Escape")
    await expect(ann.locator("[data-kind=note]")).to_contain_text("by a guest")
    await expect(carl.get_by_role("dialog")).to_have_count(0)
    await carl.keyboard.press("c")
    side = carl.get_by_role("complementary")
    await side.get_by_role("textbox").fill("looks right")
    await side.get_by_role("textbox").press("Control+Enter")
    await expect(side.locator(".comment")).to_contain_text("guest Carl")
    await _holds_to_axe(carl)
    await side.get_by_role("button", name="Close").click()


async def _holds_to_axe(carl: Page) -> None:
    """A guest's canvas with comments beside it, in light and in dark colours."""
    if not AXE.exists():
        return
    await carl.evaluate(AXE.read_text())
    survey = Survey(carl, "guest")
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        await carl.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await survey.check(f"a guest's canvas, {scheme}")
    assert not survey.found, "\n".join(survey.found)


async def _type(hers: Terminal, his: Terminal) -> None:
    ann, carl = hers.page, his.page
    await carl.locator("[data-kind=terminal]").dblclick()
    await carl.get_by_role("button", name="Ask for control").first.click()
    asks = ann.get_by_role("alert").filter(has_text="Carl asks for control")
    await asks.get_by_role("button", name="Give control").click()
    await expect(carl.locator(".pane-role").first).to_contain_text("You drive")
    await carl.locator("[data-kind=terminal] .xterm-helper-textarea").focus()
    await carl.keyboard.type("echo by $((40 + 2)) carl\r")
    await hers.sees("by 42 carl")
    await ann.locator("[data-kind=terminal]").dblclick()
    await ann.get_by_role("button", name="Take control").first.click()
    await expect(carl.locator(".pane-role").first).not_to_contain_text("You drive")


async def _revoke(ann: Page, carl: Page) -> None:
    await ann.keyboard.press("Control+Shift+.")
    await ann.get_by_role("button", name="Share", exact=True).click()
    dialog = ann.get_by_role("dialog", name="Share")
    await dialog.get_by_role("button", name="Revoke").click()
    await expect(carl.get_by_text("This link has ended")).to_be_visible()
