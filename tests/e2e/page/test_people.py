"""Several people at the page of a real Atoll: turns, links, cards, approvals, hostile texts."""

import asyncio
import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from atoll.testing.server import TestServer, atoll_command
from tests.e2e.page.test_real_page import LINK, Terminal
from tests.e2e.page.ui.open_page import sandbox_menu, visit
from tests.e2e.terminals.test_turns import attach_tty
from tests.peers.api import Api
from tests.peers.browsers import CALM, chromium, needs_chromium

_MARK_IS_WHOLE = """row => {
  const place = part => row.querySelector(part).getBoundingClientRect();
  const [name, mark] = [place('.row-name'), place('.badge')];
  return mark.width > 40 && mark.right <= name.right + 1;
}"""

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(180),
    needs_chromium,
]

PHONE_SCREEN: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
}
DESKTOP: ViewportSize = {"width": 1280, "height": 860}
TESTING = "localStorage.setItem('atoll.test', '1')"
GRACE_MILLISECONDS = 20_000
#: Were any of these ever markup, the page would say so by `window.stung`.
STING = "<img src=x onerror='window.stung=1'>"
ASKING = """
id: profile.asking
version: "1.0.0"
extension: ext.namespaces
safety: {operator: [[git, push]]}
"""
PATIENCE_SECONDS = 60
#: What a guest's own script may ask, with the key that its page holds.
_ASK = """async path => {
  const headers = {'Atoll-Page-Key': localStorage.getItem('atoll.guest-key')};
  return (await fetch(path, {headers})).status;
}"""
expect.set_options(timeout=45_000)


@asynccontextmanager
async def person(browser: Browser, address: str, **more: Any) -> AsyncIterator[Page]:
    """Somebody's own browser at this address; an error of a script fails the test."""
    context = await browser.new_context(**{**CALM, "viewport": DESKTOP, **more})
    await context.add_init_script(TESTING)
    page = await context.new_page()
    page.set_default_timeout(60_000)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console",
        lambda said: errors.append(said.text) if "Content Security" in said.text else None,
    )
    await page.goto(address)
    yield page
    await context.close()
    assert errors == []


@asynccontextmanager
async def owner(
    browser: Browser, server: TestServer, sandbox: str, terminal: str, **more: Any
) -> AsyncIterator[Page]:
    """The owner in front of one terminal."""
    done = await asyncio.to_thread(server.run, "login")
    async with person(browser, LINK.findall(done.stdout)[0], **more) as page:
        await expect(page.locator(".rail")).to_have_count(1)
        await page.goto(f"{server.url}/#/sandboxes/{sandbox}/{terminal}")
        await expect(page.locator(".pane-role").first).to_be_visible()
        yield page


@asynccontextmanager
async def guest(browser: Browser, link: str, name: str, **more: Any) -> AsyncIterator[Page]:
    """Somebody who comes by a share link."""
    async with person(browser, link, **more) as page:
        await page.get_by_label("Your name").fill(name)
        await page.get_by_role("button", name="Join").click()
        await expect(page.get_by_role("button", name="Leave")).to_be_visible()
        yield page


def role(page: Page, words: str) -> Any:
    return expect(page.locator(".pane-role").filter(visible=True)).to_contain_text(words)


async def share(page: Page, *, types: bool) -> str:
    """The owner makes a link by the dialog."""
    await page.get_by_role("button", name="Share this terminal").click()
    dialog = page.get_by_role("dialog", name="Share")
    if types:
        await dialog.get_by_role("radio", name="Watch and ask to type").check()
    await dialog.get_by_role("button", name="Make a link").click()
    link = await dialog.get_by_role("textbox", name="Share link").input_value()
    assert re.fullmatch(r"http://[^/]+/#share=\S{20,}", link)
    await page.keyboard.press("Escape")
    return link


async def test_two_browsers_and_the_command_line_take_turns_by_every_path(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="people")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        await role(ann, "You drive")
        link = await share(ann, types=True)
        async with guest(browser, link, "Bob Ray") as bob:
            hers, his = Terminal(ann, terminal), Terminal(bob, terminal)
            await refused_then_asked_then_given(hers, his)
            await cut_in_the_middle_and_back(hers, his)
            await released_and_taken(hers, his)
            await by_the_command_line(server, sandbox, hers, his)
            await cut_for_good(hers, his)


async def refused_then_asked_then_given(hers: Terminal, his: Terminal) -> None:
    ann, bob = hers.page, his.page
    await hers.type("by ann\r")
    await his.sees("by ann")
    await role(bob, "person drives")
    await his.type("x")
    await expect(bob.get_by_role("alert")).to_contain_text("person drives: ask for control")
    await bob.get_by_role("alert").get_by_role("button", name="Ask for control").click()
    asks = ann.get_by_role("alert").filter(has_text="Bob Ray asks for control")
    await asks.get_by_role("button", name="Give control").click()
    await role(bob, "You drive")
    await role(ann, "Bob Ray drives")
    await his.type("by bob\r")
    await hers.sees("by bob")
    assert "xby" not in await text_of(hers)


async def cut_in_the_middle_and_back(hers: Terminal, his: Terminal) -> None:
    """A driver's connection is gone for a moment: nobody gets the terminal, and he has it back."""
    ann, bob = hers.page, his.page
    await bob.reload()
    await role(bob, "You drive")
    await role(ann, "Bob Ray drives")
    await his.type("back again\r")
    await hers.sees("back again")


async def released_and_taken(hers: Terminal, his: Terminal) -> None:
    ann, bob = hers.page, his.page
    await bob.get_by_role("button", name="Release").click()
    await role(bob, "Nobody drives")
    await bob.get_by_role("button", name="Ask for control").click()
    await role(bob, "You drive")
    await ann.get_by_role("button", name="Take control").click()
    await role(ann, "You drive")
    await role(bob, "person drives")
    await bob.locator(".pane-bar").get_by_role("button", name="Ask for control").click()
    await expect(bob.get_by_role("button", name="Withdraw")).to_be_visible()
    await bob.get_by_role("button", name="Withdraw").click()
    await expect(ann.get_by_text("asks for control")).to_have_count(0)
    await ann.locator(".avatars").filter(visible=True).click()
    people = ann.get_by_role("list", name="People at this terminal")
    await people.get_by_role("button", name="Give control").click()
    await role(bob, "You drive")


async def by_the_command_line(
    server: TestServer, sandbox: str, hers: Terminal, his: Terminal
) -> None:
    """A third person, at a shell: it takes control, and the page says so at both."""
    with attach_tty(server, sandbox, "--terminal", hers.id, "--take") as cli:
        await role(his.page, "person drives")
        await asyncio.to_thread(cli.type, b"by the cli\r")
        await hers.sees("by the cli")
        await role(hers.page, "you drive elsewhere")
        await hers.page.get_by_role("button", name="Take control").click()
        await role(hers.page, "You drive")


async def cut_for_good(hers: Terminal, his: Terminal) -> None:
    """A driver who stays away loses control once the grace is over, and whoever waits gets it."""
    ann, bob = hers.page, his.page
    await bob.locator(".pane-bar").get_by_role("button", name="Ask for control").click()
    await expect(ann.get_by_text("Bob Ray asks for control")).to_be_visible()
    await ann.close()
    await role(bob, "is away")
    await expect(bob.locator(".pane-role")).to_contain_text("You drive", timeout=GRACE_MILLISECONDS)
    await expect(bob.locator(".notices")).to_contain_text("lost control")
    await his.type("at last\r")
    await his.sees("at last")


async def text_of(terminal: Terminal) -> str:
    script = """id => {
      const buffer = window.__atollTerms.get(id).buffer.active;
      let text = '';
      for (let y = 0; y < buffer.length; y += 1)
        text += buffer.getLine(y).translateToString(true) + '\\n';
      return text;
    }"""
    text: str = await terminal.page.evaluate(script, terminal.id)
    return text


async def test_watching_guest_sees_one_terminal_only_and_is_gone_when_revoked(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="shown")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    hidden = api.terminal(sandbox, "bash")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        link = await share(ann, types=False)
        async with guest(browser, link, "Eve", **PHONE_SCREEN) as eve:
            await Terminal(ann, terminal).type("for all eyes\r")
            await Terminal(eve, terminal).sees("for all eyes")
            assert link.rpartition("=")[2] not in eve.url
            await expect(eve.get_by_role("navigation")).to_have_count(0)
            await expect(eve.get_by_role("button", name="Share this terminal")).to_have_count(0)
            await expect(eve.get_by_label("Type a line for the terminal")).to_have_count(0)
            for path in (f"terminals/{hidden}", "exec", "shares"):
                status = await eve.evaluate(_ASK, f"v1/sandboxes/{sandbox}/{path}")
                assert status == 404, path
            await Terminal(eve, terminal).type("x")
            await expect(eve.get_by_role("alert")).to_contain_text("You may watch here, not type")
            await ann.locator(".avatars").filter(visible=True).click()
            people = ann.get_by_role("list", name="People at this terminal")
            await expect(people).to_contain_text("Eve")
            await expect(people.get_by_role("button", name="Give control")).to_have_count(0)
            await ann.get_by_role("button", name="Share this terminal").click()
            await ann.get_by_role("button", name="Revoke").click()
            await expect(eve.get_by_text("Your access has ended")).to_be_visible()


async def test_question_of_a_sandbox_is_answered_from_the_first_page(
    server: TestServer, api: Api
) -> None:
    api.call("PUT", "/v1/profiles/profile.asking", content=ASKING)
    sandbox = api.create(name="asking", profile="asking")["sandbox_id"]
    async with chromium() as browser:
        done = await asyncio.to_thread(server.run, "login")
        async with person(browser, LINK.findall(done.stdout)[0]) as page:
            await expect(page.locator(".rail")).to_have_count(1)
            with asking(server, "asking", f'operator-approve -- echo "{STING}"') as waiting:
                inbox = page.get_by_role("region", name="Waiting for you")
                await expect(inbox).to_contain_text(STING)
                await expect(inbox).to_contain_text(sandbox)
                await expect(
                    inbox.get_by_role("button", name="Allow for this sandbox")
                ).to_have_count(0)
                await inbox.get_by_role("button", name="Allow once").click()
                out, _ = await asyncio.to_thread(waiting.communicate, timeout=PATIENCE_SECONDS)
                assert out == f"{STING}\n"
            await expect(inbox).to_have_count(0)
            with asking(server, "asking", "operator-approve -- echo no") as waiting:
                await inbox.get_by_role("button", name="Deny").click()
                out, _ = await asyncio.to_thread(waiting.communicate, timeout=PATIENCE_SECONDS)
                assert (out, waiting.returncode) == ("", 1)
            assert await page.evaluate("window.stung") is None


def asking(server: TestServer, sandbox: str, line: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [atoll_command(), "exec", sandbox, "--", "sh", "-c", line],
        env={**os.environ, "ATOLL_HOME": str(server.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


async def test_secret_is_set_marked_rotated_and_removed_and_never_shown(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="holder-of-a-repository-and-of-a-long-branch")["sandbox_id"]
    values = ("kept-only-outside-4711", "another-value-of-it-4712")
    async with chromium() as browser:
        done = await asyncio.to_thread(server.run, "login")
        async with person(browser, LINK.findall(done.stdout)[0]) as page:
            await visit(page, "Secrets and approvals")
            await page.get_by_role("button", name="Set a secret").click()
            await page.get_by_role("radio", name="Variable").check()
            await page.get_by_label("Name", exact=True).fill("build-token")
            await page.get_by_label("Value", exact=True).fill(values[0])
            await page.get_by_label("Variable", exact=True).last.fill("BUILD_TOKEN")
            await page.get_by_label("Who may use it").select_option(f"sandbox:{sandbox}")
            await page.get_by_role("button", name="Set secret").click()
            row = page.get_by_role("list", name="Secrets").get_by_role("listitem")
            await expect(row).to_contain_text("exposed inside")
            await expect(row).to_contain_text("sandbox holder")
            listed = page.locator(".row", has_text="holder")
            await expect(listed).to_contain_text("exposed")
            # The long name is cut, not the mark.
            assert await listed.evaluate(_MARK_IS_WHOLE)
            await row.get_by_role("button", name="Rotate").click()
            await page.get_by_label("Value", exact=True).fill(values[1])
            await page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
            await expect(row).to_contain_text("version 2")
            held = await page.content()
            assert all(value not in held for value in values)
            await row.get_by_role("button", name="Remove").click()
            await page.get_by_role("alertdialog").get_by_role("button", name="Remove").click()
            await expect(page.get_by_text("No secrets yet.")).to_be_visible()


async def test_look_alike_host_is_shown_on_the_page_and_asked_about(
    server: TestServer, api: Api
) -> None:
    async with chromium() as browser:
        done = await asyncio.to_thread(server.run, "login")
        async with person(browser, LINK.findall(done.stdout)[0]) as page:
            await visit(page, "Secrets and approvals")
            await page.get_by_role("button", name="Set a secret").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_role("radio", name="Any HTTPS service").check()
            await dialog.get_by_label("Name", exact=True).fill("odd")
            await dialog.get_by_label("Value", exact=True).fill("kept-only-outside-4713")
            await dialog.get_by_label("Hosts").fill("\u0430pi.openai.com")
            await dialog.get_by_role("button", name="Set secret").click()
            await expect(dialog).to_contain_text("\u0430pi.openai.com")
            await expect(dialog).to_contain_text("xn--pi-6kc.openai.com")
            assert api.call("GET", "/v1/secrets")["secrets"] == []
            await dialog.get_by_role("button", name="Use this host").click()
            await expect(dialog).to_have_count(0)
    (secret,) = api.call("GET", "/v1/secrets")["secrets"]
    assert secret["hosts"] == ["xn--pi-6kc.openai.com"]
    api.call("DELETE", "/v1/secrets/odd")


async def test_network_is_switched_and_a_refused_host_allowed_from_the_page(
    server: TestServer, api: Api
) -> None:
    sandbox = api.create(name="walled")["sandbox_id"]
    terminal = api.terminal(sandbox, "cat")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        api.run(sandbox, "curl -sS -m 5 https://refused.example/ || true")
        await (await sandbox_menu(ann)).get_by_role("button", name="network limited").click()
        dialog = ann.get_by_role("dialog", name="Network of walled")
        await dialog.get_by_role("button", name="Allow refused.example").click()
        await expect(dialog.get_by_role("button", name="Forget refused.example")).to_be_visible()
        assert api.call("GET", f"/v1/sandboxes/{sandbox}/network")["allowed"] == ["refused.example"]
        await dialog.get_by_role("radio", name="None").click()
        await expect(dialog.get_by_text("Nothing leaves but model calls")).to_be_visible()
        await ann.keyboard.press("Escape")
        await expect(
            (await sandbox_menu(ann)).get_by_role("button", name="network none")
        ).to_be_visible()
        await ann.get_by_role("button", name=re.compile("isolation")).click()
        await expect(ann.get_by_text("sudo allowlist")).to_be_visible()


async def test_hostile_names_titles_and_output_stay_text(server: TestServer, api: Api) -> None:
    sandbox = api.create(name="hostile")["sandbox_id"]
    shown = f'printf \'\\033]0;%s\\007%s\\n\' "{STING}" "{STING}"; exec cat'
    body = {"name": STING[:60], "argv": ["sh", "-c", shown]}
    told = api.call("POST", f"/v1/sandboxes/{sandbox}/terminals", json=body)
    terminal = told["terminal_id"]
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        link = await share(ann, types=True)
        async with guest(browser, link, STING[:60]) as eve:
            await expect(ann.get_by_role("tab", selected=True)).to_contain_text("<img")
            await ann.locator(".avatars").filter(visible=True).click()
            await expect(ann.get_by_text(STING[:60]).first).to_be_visible()
            await eve.locator(".pane-bar").get_by_role("button", name="Ask for control").click()
            await expect(ann.get_by_role("alert")).to_contain_text("<img")
            await ann.get_by_role("alert").get_by_role("button", name="Not now").click()
            await ann.get_by_role("button", name="Show as cards").click()
            await expect(ann.get_by_role("log")).to_contain_text("<img")
            for page in (ann, eve):
                assert await page.evaluate("window.stung") is None
                assert await page.locator("img").count() == 0


async def test_recording_is_made_seen_and_played_at_the_page(server: TestServer, api: Api) -> None:
    sandbox = api.create(name="taped")["sandbox_id"]
    terminal = api.terminal(sandbox, "bash")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as ann:
        link = await share(ann, types=False)
        async with guest(browser, link, "Eve") as eve:
            await ann.get_by_role("button", name="Record this terminal").click()
            await expect(eve.get_by_text("Recorded", exact=True)).to_be_visible()
            await Terminal(ann, terminal).type("echo on $((40 + 2)) tape\r")
            await Terminal(eve, terminal).sees("on 42 tape")
            await ann.get_by_role("button", name="Stop recording").click()
            await expect(eve.get_by_text("Recorded", exact=True)).to_have_count(0)
        await ann.get_by_role("tab", name="Recordings").click()
        await ann.get_by_label("Search all terminals and recordings").fill("on 42 tape")
        await ann.get_by_role("button", name="Search", exact=True).click()
        found = ann.get_by_role("list", name="Found").get_by_role("listitem")
        await found.filter(has_text="recording").first.get_by_role("button", name="Show").click()
        await expect(ann.locator(".player-screen")).to_contain_text("on 42 tape")
