"""Who may type at the page of a real Atoll, and who may not: ended links, observers, agents."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from atoll.testing.model_server import DONE
from atoll.testing.server import TestServer
from tests.e2e.agents.agent_world import World, run, sandbox_for
from tests.e2e.page.test_people import PHONE_SCREEN, guest, owner, person, role, text_of
from tests.e2e.page.test_real_page import LINK, Terminal
from tests.peers.api import Api
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(400),
    needs_chromium,
]

PATIENCE_MILLISECONDS = 90_000
LONG_AGO = "2020-01-01T00:00:00Z"
WRITE = 'Bash {"command":"echo %s > %s","description":"write"}'
WAIT = 'Bash {"command":"until [ -e go ]; do sleep 0.1; done","description":"wait"}'
expect.set_options(timeout=45_000)


def revoke(api: Api, sandbox: str, share: str) -> None:
    api.call("DELETE", f"/v1/sandboxes/{sandbox}/shares/{share}")


def expire(api: Api, _sandbox: str, share: str) -> None:
    """Move the link's end into the past: no clock of this test runs against a loaded machine."""
    with sqlite3.connect(api.server.home / "atoll.db", timeout=60) as db:
        (body,) = db.execute("SELECT body FROM shares WHERE id = ?", (share,)).fetchone()
        ended = json.dumps({**json.loads(body), "expires_at": LONG_AGO})
        db.execute("UPDATE shares SET expires_us = 0, body = ? WHERE id = ?", (ended, share))
    db.close()


def keys(page: Page) -> Locator:
    """All that a touch screen has to type with."""
    toolbar = page.get_by_role("toolbar", name="Terminal keys").get_by_role("button")
    return toolbar.or_(line(page)).or_(page.get_by_role("button", name="Send"))


def line(page: Page) -> Locator:
    return page.get_by_label("Type a line for the terminal")


@pytest.mark.parametrize("end", [revoke, pytest.param(expire, marks=pytest.mark.slow)])
async def test_guest_of_an_ended_link_reads_so_and_can_press_no_key(
    server: TestServer, api: Api, end: Callable[[Api, str, str], None]
) -> None:
    sandbox = api.create(name=f"ended-{end.__name__}")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    body = {"role": "controller", "ttl": "1h"}
    share = api.call("POST", f"/v1/sandboxes/{sandbox}/shares", json=body)
    async with (
        chromium() as browser,
        guest(browser, share["link"], "Eve", **PHONE_SCREEN) as phone,
        guest(browser, share["link"], "Bob") as person_tty,
    ):
        await role(phone, "Nobody drives")
        await Terminal(phone, terminal).type("seen before\r")
        await Terminal(person_tty, terminal).sees("seen before")
        await expect(person_tty.locator(".guest-head")).to_contain_text("min left")
        await expect(keys(phone)).to_have_count(12)
        for key in await keys(phone).all():
            await expect(key).to_be_enabled()
        end(api, sandbox, share["share_id"])
        for page in (phone, person_tty):
            header = page.locator(".guest-head")
            await expect(header.get_by_text("This link has ended")).to_be_visible()
            await expect(header).not_to_contain_text("left")
            await expect(page.get_by_text("Ask whoever invited you for a new link")).to_be_visible()
            await expect(page.get_by_role("button", name="Leave")).to_have_count(0)
            await expect(page.get_by_text("atoll login")).to_have_count(0)
            await Terminal(page, terminal).sees("seen before")
        await expect(keys(phone)).to_have_count(12)
        for key in await keys(phone).all():
            await expect(key).to_be_disabled()


async def test_observer_on_a_phone_is_refused_until_control_is_given(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="observed")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    body = {"role": "controller", "ttl": "1h"}
    link = api.call("POST", f"/v1/sandboxes/{sandbox}/shares", json=body)["link"]
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        await role(ann, "You drive")
        async with guest(browser, link, "Eve", **PHONE_SCREEN) as eve:
            await role(eve, "person drives")
            await line(eve).fill("zqzq")
            await eve.get_by_role("button", name="Send").tap()
            refused = eve.get_by_role("alert").filter(has_text="person drives: ask for control")
            await expect(refused).to_be_visible()
            await Terminal(ann, terminal).type("by ann\r")
            await Terminal(eve, terminal).sees("by ann")
            assert "zqzq" not in await text_of(Terminal(ann, terminal))
            await eve.locator(".pane-bar").get_by_role("button", name="Ask for control").tap()
            await ann.get_by_role("button", name="Give control").click()
            await role(eve, "You drive")
            await line(eve).fill("by eve")
            await eve.get_by_role("button", name="Send").tap()
            await Terminal(ann, terminal).sees("by eve")


@asynccontextmanager
async def at_agent(
    browser: Browser, w: World, sandbox: str, agent: str, **more: Any
) -> AsyncIterator[Page]:
    """The owner in front of one agent."""
    done = await asyncio.to_thread(w.server.run, "login")
    async with person(browser, LINK.findall(done.stdout)[0], **more) as page:
        await expect(page.locator(".rail")).to_have_count(1)
        await page.goto(f"{w.server.url}/#/sandboxes/{sandbox}/{agent}")
        yield page


async def start_claude(w: World, sandbox: str, **request: object) -> str:
    body = {"agent": "claude-code", **request}
    opened = await w.api.post(f"/v1/sandboxes/{sandbox}/agents", json=body)
    assert opened.status_code == 201, opened.text
    return str(opened.json()["id"])


@pytest.mark.agents
@pytest.mark.asyncio(loop_scope="session")
async def test_phone_answers_what_an_agent_asks_by_the_buttons_of_its_card(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    async with chromium() as browser:
        await asyncio.to_thread(provide_agent, w.server, "claude-code")
        sandbox = await sandbox_for(w, "claude-code", repository)
        prompt = f"Write. [[tool {WRITE % ('allowed', 'made.txt')}]]"
        request = {"mode": "machine", "permissions": "ask", "prompt": prompt}
        agent = await start_claude(w, sandbox, **request)
        async with at_agent(browser, w, sandbox, agent, **PHONE_SCREEN) as phone:
            card = phone.locator(".talk-asks").last
            await expect(card).to_contain_text("waits", timeout=PATIENCE_MILLISECONDS)
            await card.get_by_role("button").first.tap()
            turns = phone.locator(".talk-turn").filter(has_text="Turn done")
            await expect(turns).to_have_count(1, timeout=PATIENCE_MILLISECONDS)
            assert await run(w, sandbox, "cat", "made.txt") == (0, b"allowed\n")

            await phone.get_by_label("Ask claude-code").fill(
                f"Again. [[tool {WRITE % ('denied', 'other.txt')}]]"
            )
            await phone.get_by_role("button", name="Ask", exact=True).tap()
            asked = phone.locator(".talk-asks")
            await expect(asked).to_have_count(2, timeout=PATIENCE_MILLISECONDS)
            await expect(card).to_contain_text("waits", timeout=PATIENCE_MILLISECONDS)
            await card.get_by_role("button").last.tap()
            # The agent may ask once more, at once.
            declined = asked.nth(1)
            await expect(declined).to_contain_text("declined", timeout=PATIENCE_MILLISECONDS)
            assert (await run(w, sandbox, "test", "-e", "other.txt"))[0] == 1
            assert await phone.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.agents
@pytest.mark.asyncio(loop_scope="session")
async def test_strict_lock_takes_the_keys_of_the_owner_while_the_agent_works(
    w: World, repository: Path, provide_agent: Callable[[TestServer, str], None]
) -> None:
    async with chromium() as browser:
        await asyncio.to_thread(provide_agent, w.server, "claude-code")
        sandbox = await sandbox_for(w, "claude-code", repository)
        agent = await start_claude(w, sandbox, softlock="strict")
        async with at_agent(browser, w, sandbox, agent) as page:
            terminal = Terminal(page, agent)
            await role(page, "You drive")
            await terminal.sees("permissions")
            here = f"/v1/sandboxes/{sandbox}/terminals/{agent}"
            asked = await w.api.post(f"{here}/ask", json={"prompt": f"Wait. [[tool {WAIT}]]"})
            assert asked.status_code == 202, asked.text
            bar = page.locator(".agent-bar")
            await expect(bar).to_contain_text("typing is off", timeout=PATIENCE_MILLISECONDS)
            await terminal.type("zqzq")
            refused = page.get_by_role("alert").filter(has_text="nothing was typed")
            # It is shown for a moment: looking for it at each frame misses it on no slow machine.
            await refused.wait_for(state="visible")
            await run(w, sandbox, "touch", "go")
            # An agent that a slow machine keeps from drawing counts as silent, so its turn may seem
            # over before it is: what it says last comes first.
            await terminal.sees(DONE)
            await expect(bar).to_contain_text("it is your turn", timeout=PATIENCE_MILLISECONDS)
            await terminal.type("zebra crossing")
            await terminal.sees("zebra crossing")
            assert "zqzq" not in await text_of(terminal)
