"""A colleague on another machine, with nothing but a link: by browser and by command line."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from atoll.testing.server import TestServer, test_server
from tests.e2e.page.other_network import OtherNetwork, other_network
from tests.e2e.page.test_people import guest, role
from tests.e2e.page.test_real_page import Terminal
from tests.e2e.terminals.test_turns import AttachedClient, attach_with, driver
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium, program
from tests.surfaces.cli.commands.terminals.test_attach import PersonTty, person_tty

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace of its own needs root"),
]
NOT_AUTHORISED = 6


@pytest.fixture
def elsewhere() -> Iterator[OtherNetwork]:
    with other_network() as made:
        yield made


@pytest.fixture
def reachable(elsewhere: OtherNetwork) -> Iterator[TestServer]:
    with test_server({"ATOLL_HOST": elsewhere.address}) as started:
        yield started


@asynccontextmanager
async def browser_at(elsewhere: OtherNetwork, folder: Path) -> AsyncIterator[Browser]:
    async with chromium(path=elsewhere.program(folder, program())) as browser:
        yield browser


async def test_colleague_elsewhere_comes_asks_drives_and_is_revoked(
    reachable: TestServer, elsewhere: OtherNetwork, tmp_path: Path
) -> None:
    assert reachable.run("me", "--name", "Ada").stdout == "Ada\n"
    with api_of(reachable) as api:
        sandbox = api.create(name="box")["sandbox_id"]
        terminal = api.terminal(sandbox, "cat")
        link = _link(reachable, elsewhere)
        headers = {"Authorization": f"Bearer {reachable.token}"}
        async with (
            attach_with(api.attach_url(sandbox, terminal), headers, client="ada") as ada,
            browser_at(elsewhere, tmp_path) as browser,
        ):
            await ada.ws.send_bytes(b"by ada\r")
            await ada.until(lambda state: driver(state) == "Ada")
            async with guest(browser, link, "Bob") as page:
                await by_browser(ada, Terminal(page, terminal))
                await by_talk(ada, page)
                await by_pointing(ada, page)
                with _by_link(elsewhere, tmp_path, link) as eve:
                    await by_command_line(ada, eve)
                    listed = reachable.run("share", "list", "box").stdout
                    assert "Bob, Eve" in listed
                    share = listed.splitlines()[1].split()[0]
                    assert reachable.run("share", "rm", "box", share).returncode == 0
                    assert await asyncio.to_thread(eve.ends) == NOT_AUTHORISED
                    assert b"your access has ended: the link was revoked" in eve.seen
                await expect(page.get_by_text("Ask Ada for a new one")).to_be_visible()
            with _by_link(elsewhere, tmp_path, link) as late:
                assert await asyncio.to_thread(late.ends) == NOT_AUTHORISED
                assert b"ask whoever invited you" in late.seen
    assert not (tmp_path / "home").exists()


def _link(server: TestServer, elsewhere: OtherNetwork) -> str:
    made = server.run("share", "box", "--role", "controller")
    assert made.returncode == 0, made.stderr
    assert "this machine only" not in made.stderr
    assert made.stdout.startswith(f"http://{elsewhere.address}:")
    return made.stdout.strip()


def _by_link(elsewhere: OtherNetwork, folder: Path, link: str) -> AbstractContextManager[PersonTty]:
    home = {"ATOLL_HOME": str(folder / "home"), "HOME": str(folder / "home")}
    return person_tty(home, "attach", link, "--as", "Eve", before=elsewhere.enter)


async def by_browser(ada: AttachedClient, his: Terminal) -> None:
    """He sees who invites him, asks, is given control and types."""
    await his.sees("by ada")
    await role(his.page, "Ada drives")
    await his.page.locator(".pane-bar").get_by_role("button", name="Ask for control").click()
    state = await ada.until(lambda state: bool(state["waiting"]))
    assert state["waiting"][0]["name"] == "Bob"
    await ada.say("grant_control")
    await role(his.page, "You drive")
    await his.type("by bob\r")
    await ada.sees(b"by bob\r\nby bob")
    await ada.say("revoke_control")
    await ada.until(lambda state: driver(state) == "Ada")


async def by_talk(ada: AttachedClient, page: Page) -> None:
    """They say a line to each other; the program has none of it."""
    await page.get_by_role("button", name="Talk").click()
    await page.get_by_label("Say to everybody here").fill("shall I?")
    await page.keyboard.press("Enter")
    heard = await ada.told("talk")
    assert [(one["name"], one["text"]) for one in heard["lines"]] == [("Bob", "shall I?")]
    await ada.say("say", text="go on <b>")
    await expect(page.get_by_label("What people here said")).to_contain_text("Ada go on <b>")
    await expect(page.locator(".notices")).to_contain_text("Ada: go on <b>")
    await page.keyboard.press("Escape")
    assert b"shall" not in ada.seen


async def by_pointing(ada: AttachedClient, page: Page) -> None:
    """Each sees where the other points, until he would rather not."""
    await ada.say("point", at=[1, 4], selected=[0, 0, 1, 3])
    await expect(page.locator(".pointer-name")).to_have_text("Ada")
    await expect(page.locator(".pointer-range")).to_have_count(2)
    screen = await page.locator(".xterm-screen").bounding_box()
    assert screen is not None
    await page.mouse.move(screen["x"] + 2, screen["y"] + 2)
    seen = await ada.told("pointers")
    while not any(one.get("at") == [0, 0] for one in seen["pointers"]):
        seen = await ada.told("pointers")
    await page.get_by_text("people are here").click()
    await page.get_by_label("Show where each of us points").uncheck()
    await expect(page.locator(".pointer")).to_have_count(0)
    while any(one.get("at") == [0, 0] for one in seen["pointers"]):
        seen = await ada.told("pointers")
    await page.keyboard.press("Escape")


async def by_command_line(ada: AttachedClient, eve: PersonTty) -> None:
    """She needs no account: the link alone, read, asked with and typed with."""
    await asyncio.to_thread(eve.expect, b"Ada invited you to box")
    await asyncio.to_thread(eve.expect, b"by bob")
    await ada.ws.send_bytes(b"by ada again\r")
    await ada.until(lambda state: driver(state) == "Ada")
    await asyncio.to_thread(eve.expect, b"[Ada drives")
    await asyncio.to_thread(eve.type, b"\x1d")
    await ada.until(lambda state: [one["name"] for one in state["waiting"]] == ["Eve"])
    await asyncio.to_thread(eve.expect, b"[asked Ada]")
    told = len(eve.seen)
    await ada.say("grant_control")
    await ada.until(lambda state: driver(state) == "Eve")
    # Its title no longer says that it waits.
    await asyncio.to_thread(eve.expect, b"\x1b]2;", since=told)
    await asyncio.to_thread(eve.type, b"\x1f")
    await asyncio.to_thread(eve.expect, b"say:")
    await asyncio.to_thread(eve.type, b"thank you\r")
    heard = await ada.told("talk")
    assert (heard["lines"][-1]["name"], heard["lines"][-1]["text"]) == ("Eve", "thank you")
    assert b"thank you" not in ada.seen
    await asyncio.to_thread(eve.type, b"by eve\r")
    await ada.sees(b"by eve\r\nby eve")
