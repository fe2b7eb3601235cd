"""Networks that go away, pastes of megabytes and sandboxes that end, at the page and the command
line of a real Atoll."""

import asyncio
import hashlib
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import WSMsgType
from playwright.async_api import Page, WebSocket, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import guest, owner, person, role
from tests.e2e.page.test_real_page import LINK, Terminal
from tests.e2e.terminals.test_turns import attach_with
from tests.peers.api import Api, until
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.far.silent_network import SilentNetwork, silent_network
from tests.surfaces.cli.commands.terminals.test_attach import PersonTty, person_tty

pytestmark = pytest.mark.timeout(400)

PASTE_BYTES = 2 * 1024 * 1024
#: What a loaded machine may need for it.
MILLISECONDS = 120_000
#: A dead connection is to be given up within about 12 s; the rest is the loaded machine's.
NOTICED_SECONDS = 60.0
#: A page is to say so within that, from the cut on.
SAID_SECONDS = 5.0
LINES = 600
COUNTS = f"""stty raw -echo; echo waits; head -c 2 >/dev/null; i=0
while [ $i -lt {LINES} ]; do echo "line $i"; i=$((i+1)); sleep 0.03; done; echo counted; exec cat"""
#: When each of these words first stood on the page, by its own clock.
_WHEN = """words => {
  window.when = {};
  const look = () => { for (const word of words)
    if (!(word in window.when) && document.body.innerText.includes(word))
      window.when[word] = performance.now(); };
  new MutationObserver(look).observe(document.body,
    {subtree: true, childList: true, characterData: true});
  return performance.now();
}"""
OFFLINE = "Offline: what you see may be old"
QUIET = "Offline: the server does not answer."
BLANK = b"\x1b[0m" + b" " * 20
_PASTE = """text => {
  const data = new DataTransfer();
  data.setData('text/plain', text);
  const event = {clipboardData: data, bubbles: true, cancelable: true};
  document.querySelector('.pane:not([hidden]) .xterm-helper-textarea')
    .dispatchEvent(new ClipboardEvent('paste', event));
}"""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits at the command line waits as long as on a loaded machine."""
    monkeypatch.setattr(
        "tests.surfaces.cli.commands.terminals.test_attach.PATIENCE", MILLISECONDS / 1000
    )


def pasted() -> str:
    """Two MiB that compress badly and stand on one line."""
    pieces = (hashlib.sha256(b"%d" % n).hexdigest() for n in range(PASTE_BYTES // 64))
    return "".join(pieces)


def hashing(api: Api, sandbox: str) -> str:
    """A terminal whose program reads a paste and prints its hash."""
    line = f"stty raw -echo; echo reads; head -c {PASTE_BYTES} | sha256sum; sleep 600"
    return api.terminal(sandbox, "sh", "-c", line)


def environ(server: TestServer, url: str) -> dict[str, str]:
    """A person's environment at the command line."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ATOLL_")}
    home = {"ATOLL_HOME": str(server.home), "ATOLL_URL": url, "ATOLL_TOKEN": server.token}
    return {**kept, **home, "TERM": "xterm-256color"}


async def paste(page: Page, text: str) -> None:
    await page.locator(".pane:not([hidden]) .xterm-helper-textarea").focus()
    await page.evaluate(_PASTE, text)


async def sees(page: Page, terminal: str, words: str) -> None:
    page.set_default_timeout(MILLISECONDS)
    await Terminal(page, terminal).sees(words)


@needs_chromium
async def test_two_mib_pasted_into_the_page_reach_the_program_whole(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = hashing(api, sandbox)
    text = pasted()
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as page:
        await role(page, "You drive")
        await sees(page, terminal, "reads")
        await paste(page, text)
        await sees(page, terminal, hashlib.sha256(text.encode()).hexdigest())


@needs_chromium
async def test_paste_behind_a_program_that_reads_nothing_is_dropped_and_said(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "sh", "-c", "stty raw -echo; echo idles; sleep 600")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as page:
        await role(page, "You drive")
        await sees(page, terminal, "idles")
        await paste(page, pasted())
        notice = page.get_by_text("The program reads no input").first
        await expect(notice).to_be_visible(timeout=MILLISECONDS)


def test_two_mib_pasted_into_attach_reach_the_program_whole(server: TestServer, api: Api) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = hashing(api, sandbox)
    text = pasted().encode()
    with person_tty(environ(server, server.url), "attach", sandbox, "--terminal", terminal) as here:
        here.expect(b"reads")
        at = 0
        while at < len(text):
            # A terminal's own buffer holds the rest back.
            at += os.write(here.master, text[at : at + 4096])
        here.read_until(
            lambda seen: hashlib.sha256(text).hexdigest().encode() in seen, "the paste's hash"
        )
        here.type(b"\x1c")
        assert here.ends() == 0


@asynccontextmanager
async def network(server: TestServer) -> AsyncIterator[SilentNetwork]:
    async with silent_network(int(server.url.rpartition(":")[2])) as made:
        yield made


@needs_chromium
async def test_page_says_a_silent_network_in_5_s_and_comes_back_with_every_byte(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "sh", "-c", COUNTS)
    done = await asyncio.to_thread(server.run, "login")
    link = LINK.findall(done.stdout)[0]
    async with (
        chromium() as browser,
        network(server) as between,
        person(browser, link.replace(server.url, between.url)) as page,
    ):
        live = page.locator(".rail .link")
        await expect(live).to_contain_text("Live")
        await page.goto(f"{between.url}/#/sandboxes/{sandbox}/{terminal}")
        await role(page, "You drive")
        await sees(page, terminal, "waits")
        await Terminal(page, terminal).type("go")
        await sees(page, terminal, "line 20")
        cut_at = await page.evaluate(_WHEN, [OFFLINE, QUIET])
        between.cut()
        milliseconds = NOTICED_SECONDS * 1000
        await expect(page.get_by_text(QUIET)).to_be_visible(timeout=milliseconds)
        await expect(page.get_by_text(OFFLINE)).to_be_visible(timeout=milliseconds)
        when = await page.evaluate("window.when")
        assert {word: (at - cut_at) / 1000 < SAID_SECONDS for word, at in when.items()} == {
            OFFLINE: True,
            QUIET: True,
        }, (cut_at, when)
        await expect(page.get_by_text("Disconnected.").first).to_be_visible(timeout=milliseconds)
        await expect(live).to_contain_text("Reconnecting", timeout=milliseconds)
        assert "You drive" not in await page.locator(".pane-role").first.inner_text()
        between.mend()
        await expect(live).to_contain_text("Live", timeout=milliseconds)
        await expect(page.get_by_text("Disconnected.")).to_have_count(0, timeout=milliseconds)
        await Terminal(page, terminal).type("and on\r")
        await sees(page, terminal, "and on")
        whole = b"waits\n" + b"".join(b"line %d\n" % n for n in range(LINES)) + b"counted\nand on\r"
        tap = await Terminal(page, terminal).has(len(whole))
        assert tap["hash"] == hashlib.sha256(whole[tap["start"] :]).hexdigest()
        assert (tap["end"], tap["breaks"]) == (len(whole), [])


async def test_attach_notices_a_silent_network_and_comes_back_by_itself(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")

    def attached(here: PersonTty, between: SilentNetwork, loop: asyncio.AbstractEventLoop) -> None:
        here.type(b"one\r")
        here.expect(b"one\r\none")
        loop.call_soon_threadsafe(between.cut)
        here.read_until(lambda seen: b"reconnecting" in seen, "the word of the cut")
        loop.call_soon_threadsafe(between.mend)
        # The notice is blanked once the connection is back.
        here.read_until(lambda seen: BLANK in seen.rpartition(b"reconnecting")[2], "its end")
        here.type(b"on again\r")
        here.expect(b"on again\r\non again")
        here.type(b"\x1c")
        assert here.ends() == 0

    async with network(server) as between:
        words = ("attach", sandbox, "--terminal", terminal)
        with person_tty(environ(server, between.url), *words) as here:
            await asyncio.to_thread(attached, here, between, asyncio.get_running_loop())


@needs_chromium
async def test_nobody_who_comes_to_a_terminal_with_history_acknowledges_what_never_came(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    line = "seq 1 200000; echo history; exec cat"
    terminal = api.terminal(sandbox, "sh", "-c", line)
    until_printed(api, sandbox, terminal)
    made = await asyncio.to_thread(server.run, "share", sandbox)
    async with chromium() as browser:
        for coming in (
            owner(browser, server, sandbox, terminal),
            guest(browser, made.stdout.strip(), "Gwen"),
        ):
            async with coming as page:
                frames: list[dict[str, Any]] = []
                acknowledged = asyncio.Event()
                page.on("websocket", listener(frames, acknowledged))
                await page.reload()
                await sees(page, terminal, "history")
                api.call("POST", f"/v1/sandboxes/{sandbox}/terminals/{terminal}/resize",
                         json={"cols": 90, "rows": 30})  # fmt: skip
                async with asyncio.timeout(MILLISECONDS / 1000):
                    await acknowledged.wait()
                starts = [frame["offset"] for frame in frames if frame["type"] == "start"]
                acks = [frame["offset"] for frame in frames if frame["type"] == "ack"]
                assert starts and starts[0] > 0
                assert min(acks) > starts[0]
                assert not [frame for frame in frames if frame["type"] == "error"]


def until_printed(api: Api, sandbox: str, terminal: str) -> None:
    path = f"/v1/sandboxes/{sandbox}/terminals/{terminal}"
    until(lambda: api.call("GET", path)["ring_start"], lambda start: start > 1_000_000)


def listener(
    kept: list[dict[str, Any]], acknowledged: asyncio.Event
) -> Callable[[WebSocket], None]:
    return lambda socket: listen(socket, kept, acknowledged)


def listen(socket: WebSocket, kept: list[dict[str, Any]], acknowledged: asyncio.Event) -> None:
    """Keep the text frames of both directions."""

    def keep(frame: str | bytes) -> None:
        if isinstance(frame, str):
            kept.append(json.loads(frame))
            if kept[-1]["type"] == "ack":
                acknowledged.set()

    socket.on("framesent", keep)
    socket.on("framereceived", keep)


async def test_client_of_a_sandbox_that_stops_is_closed_with_the_command_that_helps(
    server: TestServer, api: Api
) -> None:
    told = api.create()
    terminal = api.terminal(told["sandbox_id"], "cat")
    url = api.attach_url(told["sandbox_id"], terminal)
    async with attach_with(url, api.headers) as here:
        await here.told("control_state")
        await asyncio.to_thread(api.act, told["sandbox_id"], "stop")
        while (frame := await here.ws.receive()).type in (WSMsgType.TEXT, WSMsgType.BINARY):
            pass
    words = f"the sandbox was stopped: `atoll start {told['name']}` goes on"
    assert (frame.type, frame.data, frame.extra) == (WSMsgType.CLOSE, 4410, words)
    async with attach_with(url, api.headers) as late:
        assert await late.hear() is None
        assert late.ws.close_code == 4409


def test_attach_to_a_sandbox_that_is_destroyed_ends_with_the_reason(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    terminal = api.terminal(sandbox, "sh", "-c", "echo here; exec cat")
    with person_tty(environ(server, server.url), "attach", sandbox, "--terminal", terminal) as here:
        here.expect(b"here")
        api.act(sandbox, "destroy")
        here.read_until(lambda seen: b"is being destroyed" in seen, "the reason")
        assert here.ends() != 0


@needs_chromium
async def test_guest_of_a_stopped_sandbox_and_of_a_revoked_link_reads_no_command(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create()["sandbox_id"]
    api.terminal(sandbox, "cat")
    made = await asyncio.to_thread(server.run, "share", sandbox)
    async with chromium() as browser, guest(browser, made.stdout.strip(), "Gwen") as page:
        await expect(page.locator(".pane-role").first).to_contain_text("Watching")
        await asyncio.to_thread(api.act, sandbox, "stop")
        words = page.get_by_text("This sandbox was stopped. Ask whoever invited you.")
        await expect(words.first).to_be_visible(timeout=MILLISECONDS)
        assert "atoll " not in await page.locator("main").inner_text()
        shares = f"/v1/sandboxes/{sandbox}/shares"
        for link in api.call("GET", shares)["shares"]:
            api.call("DELETE", f"{shares}/{link['share_id']}")
        await expect(page.get_by_text("This link has ended")).to_be_visible(timeout=MILLISECONDS)
        await page.reload()
        await expect(page.get_by_role("heading", name="Your access has ended")).to_be_visible()
        assert "atoll login" not in await page.locator("main").inner_text()
