"""One dashboard in three browsers through two replicas: two members and a guest of a link."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, Page, expect

from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.testing.server import TestServer
from atoll.wire.crdt.frames import SyncUpdate, spell_frame
from tests.e2e.page.test_people import guest, person
from tests.e2e.page.test_real_page import LINK, Terminal
from tests.e2e.page.test_second_person import CONFIG, joined
from tests.e2e.replicas.fleet import Fleet, fleet_on
from tests.peers.api import Api, api_of
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.databases.postgres import PostgresServer
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider
from tests.peers.nats.server import nats_server
from tests.surfaces.http.dashboards.tab import Tab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(240),
    needs_chromium,
]

LARGE_BYTES, GIANT_BYTES = 300_000, 10_000_000
SMALL = 2_000
"""The small updates of one burst; the connection ends long before the last one."""

_NOTES = """() => [...document.querySelectorAll('[data-kind=note]')].map(note => [
  note.dataset.item,
  Number(note.style.getPropertyValue('--x')),
  Number(note.style.getPropertyValue('--y')),
  note.querySelector('.item-body').innerText.trim(),
]).sort()"""


class Way:
    """The address of one browser, behind which another replica may stand any time."""

    def __init__(self, server: TestServer) -> None:
        self.server = server
        self.is_open = True
        self.url = ""
        self._writers: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Way"]:
        listening = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            listening.close()
            self.cut()

    def cut(self) -> None:
        """Drop every connection, and take no new one until `lead`."""
        self.is_open = False
        for writer in self._writers:
            writer.transport.abort()

    def lead(self, server: TestServer) -> None:
        self.server, self.is_open = server, True

    def at(self, address: str) -> str:
        """Return a link of the server, by this way."""
        return self.url + "/" + address.partition("://")[2].partition("/")[2]

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = int(self.server.url.rpartition(":")[2])
        try:
            if not self.is_open:
                return
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
            self._writers |= {writer, far_writer}
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, far_writer))
                group.create_task(_pump(far_reader, writer))
            self._writers -= {writer, far_writer}
        except OSError:
            pass  # nobody is there now
        finally:
            writer.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class Three:
    """The dashboard, the replicas, and the three browsers on it, each with its way."""

    def __init__(self, fleet: Fleet, api: Api, board: str) -> None:
        self.fleet, self.api, self.board = fleet, api, board
        self.ways: list[Way] = []
        self.pages: list[Page] = []

    async def notes(self) -> list[Any]:
        """Return the notes that all three browsers show, once they are alike."""
        async with asyncio.timeout(45):
            while True:
                shown = [await page.evaluate(_NOTES) for page in self.pages]
                if all(one == shown[0] for one in shown):
                    return list(shown[0])
                await self.pages[0].wait_for_timeout(50)

    async def stored(self, server: TestServer) -> dict[str, tuple[float, float, str]]:
        """Return the notes as a replica has them."""
        tab = Tab()
        async with tab.joined(server.url, self.board, server.token):
            await tab.until(lambda: len(tab.items) > 0)
            return {
                one: (fields["x"], fields["y"], str(tab.items[one]["text"]))
                for one, fields in tab.state().items()
                if fields["kind"] == "note"
            }


async def test_three_browsers_agree_through_two_replicas_and_a_guest_changes_nothing(
    postgres: PostgresServer,
) -> None:
    with (
        oidc_provider({"sub": "bob", "name": "Bob Ray"}) as provider,
        nats_server() as nats,
        fleet_on(
            postgres,
            {"ATOLL_TEST_OIDC_SECRET": "of-a-test", "ATOLL_BUS_URL": nats.url},
            config=CONFIG.format(issuer=provider.issuer),
            further=("two",),
        ) as fleet,
        api_of(fleet.servers[0]) as api,
    ):
        api.call("PATCH", "/v1/me", json={"name": "Ann"})
        api.call("POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
        body = {"name": "Plan", "scope": "shared"}
        board = api.call("POST", "/v1/dashboards", json=body)["id"]
        async with chromium() as browser, AsyncExitStack() as stack:
            three = Three(fleet, api, board)
            await _arrive(three, browser, stack, provider)
            await _write_one_note(three)
            await _drive_and_watch(three)
            await _survive(three)
            await _withstand(three)


async def _arrive(
    three: Three, browser: Browser, stack: AsyncExitStack, provider: OidcProcess
) -> None:
    """Ann logs in by one replica, Bob is invited and a guest comes, both by the other."""
    one, two = three.fleet.servers
    for server in (one, two, two):
        three.ways.append(await stack.enter_async_context(Way(server).serving()))
    hers, his, theirs = three.ways
    done = await asyncio.to_thread(one.run, "login")
    ann = await stack.enter_async_context(person(browser, hers.at(LINK.findall(done.stdout)[0])))
    await expect(ann.locator(".rail")).to_have_count(1)
    await ann.goto(f"{hers.url}/#/dashboards/{three.board}")
    await expect(ann.get_by_text("Saved", exact=True)).to_be_visible()

    invitations = "/v1/organizations/acme/invitations"
    link = (await asyncio.to_thread(three.api.call, "POST", invitations, json={}))["url"]
    bob = await stack.enter_async_context(person(browser, his.at(link)))
    await joined(bob, provider)
    await bob.goto(f"{his.url}/#/dashboards/{three.board}")
    await expect(bob.get_by_text("Saved", exact=True)).to_be_visible()

    await ann.get_by_role("application").press("t")
    pane = ann.locator("[data-kind=terminal]")
    await expect(pane.locator(".xterm-screen")).to_be_visible()
    await ann.get_by_role("button", name="Share", exact=True).click()
    dialog = ann.get_by_role("dialog", name="Share")
    await dialog.get_by_label("They may watch its terminals").check()
    await dialog.get_by_role("button", name="Make a link").click()
    link = await dialog.get_by_role("textbox", name="Link to this dashboard").input_value()
    await ann.keyboard.press("Escape")
    carl = await stack.enter_async_context(guest(browser, theirs.at(link), "Carl"))
    await expect(carl.get_by_text("View only")).to_be_visible()
    three.pages += [ann, bob, carl]


async def _write_one_note(three: Three) -> None:
    """It is made, written by two at once, and moved; the guest sees it."""
    ann, bob, carl = three.pages
    await ann.get_by_role("application").press("n")
    await ann.keyboard.type("Shared")
    await expect(carl.locator("[data-kind=note]")).to_contain_text("Shared")
    # Presence passes between replicas by the bus.
    await expect(carl.locator(".board-person")).to_have_count(2)
    await bob.locator("[data-kind=note]").dblclick()
    for page in (ann, bob):
        await page.keyboard.press("Control+End")
    await asyncio.gather(ann.keyboard.type(" by Ann"), bob.keyboard.type(" by Bob"))
    for page in (ann, bob):
        await page.keyboard.press("Escape")
    await ann.keyboard.press("ArrowRight")
    await bob.keyboard.press("ArrowDown")
    (note,) = await three.notes()
    assert sorted(note[3].replace(" ", "")) == sorted("SharedbyAnnbyBob")
    # A guest's keys and mouse change nothing.
    await carl.get_by_role("application").press("n")
    await carl.locator("[data-kind=note]").dblclick()
    await carl.keyboard.type("by Carl")
    # That was the key of the comments, which a guest reads and does not write.
    dialog = carl.get_by_role("complementary")
    await expect(dialog).to_contain_text("None yet")
    await expect(dialog.get_by_role("textbox")).to_have_count(0)
    await carl.keyboard.press("Escape")
    assert await three.notes() == [note]


async def _drive_and_watch(three: Three) -> None:
    """Ann and Bob drive one terminal in turn; the guest watches."""
    ann, bob, carl = three.pages
    view = await asyncio.to_thread(three.api.call, "GET", f"/v1/dashboards/{three.board}")
    place = f"/v1/sandboxes/{view['sandbox_id']}/terminals"
    (one,) = (await asyncio.to_thread(three.api.call, "GET", place))["terminals"]
    hers, his, theirs = (Terminal(page, one["terminal_id"]) for page in three.pages)
    await ann.locator("[data-kind=terminal]").dblclick()
    await ann.keyboard.type("echo by $((40 + 2)) ann\r")
    for seen in (hers, his, theirs):
        await seen.sees("by 42 ann")
    await bob.locator("[data-kind=terminal]").dblclick()
    await bob.get_by_role("button", name="Ask for control").first.click()
    asks = ann.get_by_role("alert").filter(has_text="Bob Ray asks for control")
    await asks.get_by_role("button", name="Give control").click()
    await expect(bob.locator(".pane-role").first).to_contain_text("You drive")
    await bob.locator("[data-kind=terminal] .xterm-helper-textarea").focus()
    await bob.keyboard.type("echo by $((40 + 3)) bob\r")
    for seen in (hers, his, theirs):
        await seen.sees("by 43 bob")
    await carl.locator("[data-kind=terminal]").dblclick()
    await carl.keyboard.type("echo by $((40 + 4)) carl\r")
    await expect(carl.get_by_role("button", name="Ask for control")).to_have_count(0)
    await bob.keyboard.type("echo by $((40 + 5)) bob\r")
    await theirs.sees("by 45 bob")
    assert not await carl.evaluate(
        "id => [...Array(40).keys()].some(y => window.__atollTerms.get(id).buffer.active"
        ".getLine(y)?.translateToString(true).includes('by 44'))",
        one["terminal_id"],
    )


async def _survive(three: Three) -> None:
    """One is offline, and the replica of the others is killed: nothing is lost or doubled."""
    ann, bob, _ = three.pages
    one, two = three.fleet.servers
    three.ways[0].cut()
    await expect(ann.locator(".board-cut")).to_contain_text("Offline")
    await ann.locator("[data-kind=note]").dblclick()
    await ann.keyboard.press("Control+End")
    await ann.keyboard.type(" offline")
    await ann.keyboard.press("Escape")
    await bob.locator("[data-kind=note]").dblclick()
    await bob.keyboard.press("Control+Home")
    await bob.keyboard.type("Meanwhile ")
    await bob.keyboard.press("Escape")
    await bob.keyboard.press("ArrowDown")
    await asyncio.to_thread(two.kill)
    await bob.keyboard.press("ArrowDown")
    for way in three.ways:
        way.lead(one)
    for page in three.pages:
        await page.evaluate("window.dispatchEvent(new Event('online'))")
    for page in (ann, bob):
        await expect(page.get_by_text("Saved", exact=True)).to_be_visible()
    await expect(ann.locator("[data-kind=note]")).to_contain_text("Meanwhile")
    await expect(bob.locator("[data-kind=note]")).to_contain_text("offline")
    (note,) = await three.notes()
    kept = await three.stored(one)
    assert {key: value[:2] for key, value in kept.items()} == {note[0]: (note[1], note[2])}
    for text in (note[3], kept[note[0]][2]):
        assert sorted("".join(text.split())) == sorted("MeanwhileSharedbyAnnbyBoboffline")


async def _withstand(three: Three) -> None:
    """A guest's own connection is used for everything that it may not do."""
    one, before = three.fleet.servers[0], await three.notes()
    carl = three.pages[2]
    (cookie,) = [
        f"{found['name']}={found['value']}"
        for found in await carl.context.cookies()
        if found.get("name") == "atoll_guest"
    ]
    key = await carl.evaluate("localStorage.getItem('atoll.guest-key')")
    headers = {"Cookie": cookie, PAGE_KEY: key, "Origin": one.url}
    body = {"name": "Other", "scope": "shared"}
    other = (await asyncio.to_thread(three.api.call, "POST", "/v1/dashboards", json=body))["id"]

    foreign = Tab()
    async with foreign.joined(one.url, other, headers=headers):
        await foreign.until(lambda: foreign.code is not None)
        assert foreign.code == 4404 and not foreign.state()
    await asyncio.gather(_forge(three, headers), _overflow(three, headers), _go_on(three))
    (after,) = await three.notes()
    assert (after[:3], before[0][3] in after[3]) == (before[0][:3], True)


async def _go_on(three: Three) -> None:
    """A member writes meanwhile, and the guest's own page shows it."""
    ann, _, carl = three.pages
    await ann.locator("[data-kind=note]").first.dblclick()
    await ann.keyboard.press("Control+End")
    await ann.keyboard.type(" still")
    await ann.keyboard.press("Escape")
    await expect(carl.locator("[data-kind=note]")).to_contain_text("still")


async def _forge(three: Three, headers: dict[str, str]) -> None:
    """Updates in the name of others and of its own are refused, one by one."""
    one = three.fleet.servers[0]
    forger = Tab()
    async with forger.joined(one.url, three.board, headers=headers):
        await forger.until(lambda: len(forger.items) > 0)
        (note,) = [key for key, fields in forger.state().items() if fields["kind"] == "note"]
        forger.items[note]["text"].insert(0, "forged ")
        assert (await forger.told("refused"))["code"] == "forbidden"
        del forger.items[note]
        assert (await forger.told("refused"))["code"] == "forbidden"
    stranger = Tab()
    async with stranger.joined(one.url, three.board, headers=headers):
        await stranger.told("welcome")
        for number in range(SMALL):
            stranger.add(number, "x" * 20)
        with suppress(ConnectionError, aiohttp.ClientError):
            await stranger.flush()
        await stranger.until(lambda: stranger.code is not None)
        assert stranger.code == 4429


async def _overflow(three: Three, headers: dict[str, str]) -> None:
    """An update beyond the bound is refused, and one beyond all bounds ends its connection."""
    tab = Tab()
    async with tab.joined(three.fleet.servers[0].url, three.board, headers=headers):
        await tab.told("welcome")
        await tab.send_bytes(spell_frame(SyncUpdate(b"\0" * LARGE_BYTES)))
        assert (await tab.told("refused"))["code"] == "too_large"
        with suppress(ConnectionError, aiohttp.ClientError):
            await tab.send_bytes(spell_frame(SyncUpdate(b"\0" * GIANT_BYTES)))
        await tab.until(lambda: tab.code is not None)
        # The server's word may be lost on the way, since it reads no more.
        assert tab.code in (1006, 1009)
