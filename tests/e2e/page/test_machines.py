"""The page of a sandbox whose agents run as machines: their cards, and its instructions."""

import shlex
from collections.abc import Iterator

import pytest
from playwright.async_api import expect

from atoll.testing.server import TestServer, test_server
from tests.e2e.page.test_real_page import LINK, tab
from tests.peers.api import Api, api_of, until
from tests.peers.browsers import chromium, needs_chromium
from tests.peers.far.silent_network import silent_network

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

WORDS = "Greet the heron before you begin."
# A program in the agent's place that speaks Claude's protocol and repeats nothing but this.
PLAYED = """#!/bin/sh
said='{"content":[{"type":"text","text":"As told."}]}'
while read -r line; do
  case $line in *'"type":"user"'*)
    n=$((n + 1))
    echo '{"type":"assistant","uuid":"'$n'","message":'"$said"'}'
    echo '{"type":"result","subtype":"success","is_error":false,"duration_ms":1}' ;;
  esac
done
"""
MILLISECONDS = 60_000


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server() as started:
        yield started


async def test_sandbox_of_a_machine_shows_its_cards_and_instructions(server: TestServer) -> None:
    with api_of(server) as api:
        request = {
            "name": "machines",
            "env": {"PATH": "/workspace/bin:/usr/local/bin:/usr/bin:/bin"},
            "setup_metadata": {"instructions": WORDS},
        }
        made = api.create(**request)
        sandbox = str(made["sandbox_id"])
        program = shlex.quote(PLAYED)
        lay = f"mkdir -p bin && printf %s {program} > bin/claude && chmod +x bin/claude"
        api.run(sandbox, lay)
        async with chromium() as browser:
            page = await tab(browser, LINK.findall(server.log.read_text())[0])
            await page.get_by_text("machines").first.click()
            await expect(page.get_by_text("Nothing runs in it yet")).to_be_visible(
                timeout=MILLISECONDS
            )
            more = page.get_by_role("button", name="More about this sandbox")
            await more.click()
            await page.get_by_text("for its first agent").click()
            await expect(page.get_by_text(WORDS)).to_be_visible()
            await page.keyboard.press("Escape")
            order = {"agent": "claude-code", "mode": "machine"}
            api.call("POST", f"/v1/sandboxes/{sandbox}/agents", json=order)
            chosen = page.get_by_role("tab", selected=True)
            await expect(chosen).to_contain_text("claude-code (cards)", timeout=MILLISECONDS)
            await expect(page.locator(".talk").get_by_text("As told.")).to_be_visible(
                timeout=MILLISECONDS
            )
            await expect(page.get_by_text("Nothing runs in it yet")).to_have_count(0)
            await more.click()
            await expect(page.get_by_text("its agent has them")).to_be_visible(timeout=MILLISECONDS)
            await page.keyboard.press("Escape")
            # Somebody who comes later finds the cards, too, and no shell was opened for that.
            await page.reload()
            await expect(chosen).to_contain_text("claude-code (cards)", timeout=MILLISECONDS)
            await expect(page.locator(".talk").get_by_text("As told.")).to_be_visible(
                timeout=MILLISECONDS
            )
            assert api.call("GET", f"/v1/sandboxes/{sandbox}/terminals")["terminals"] == []


async def test_cards_that_came_without_a_network_stand_there_when_it_returns(
    server: TestServer,
) -> None:
    link = LINK.findall(server.log.read_text())[0]
    async with chromium() as browser, silent_network(int(server.url.rpartition(":")[2])) as between:
        with api_of(server) as api:
            sandbox, agent = _machine(api)
            page = await tab(browser, link.replace(server.url, between.url))
            await page.goto(f"{between.url}/#/sandboxes/{sandbox}")
            told = page.locator(".talk").get_by_text("As told.")
            await expect(told).to_have_count(1, timeout=MILLISECONDS)
            between.cut()
            await between.close()
            await expect(page.get_by_text("Not connected.")).to_be_visible(timeout=MILLISECONDS)
            _ask(api, sandbox, agent)
            await expect(told).to_have_count(1)
            between.mend()
            await expect(told).to_have_count(2, timeout=MILLISECONDS)
            await expect(page.get_by_text("Not connected.")).to_have_count(0)
            _ask(api, sandbox, agent)
            await expect(told).to_have_count(3, timeout=MILLISECONDS)


def _machine(api: Api) -> tuple[str, str]:
    """A sandbox and the agent in it, which was asked once."""
    path = "/workspace/bin:/usr/local/bin:/usr/bin:/bin"
    sandbox = str(api.create(env={"PATH": path})["sandbox_id"])
    program = shlex.quote(PLAYED)
    api.run(sandbox, f"mkdir -p bin && printf %s {program} > bin/claude && chmod +x bin/claude")
    order = {"agent": "claude-code", "mode": "machine", "prompt": "Begin."}
    made = api.call("POST", f"/v1/sandboxes/{sandbox}/agents", json=order)
    return sandbox, str(made["id"])


def _ask(api: Api, sandbox: str, agent: str) -> None:
    """Ask it once more; its answer is there when this returns."""
    here = f"/v1/sandboxes/{sandbox}/terminals/{agent}"
    api.call("POST", f"{here}/ask", json={"prompt": "And on."})
    until(
        lambda: api.call("GET", f"{here}/cards")["agent"]["turn"],
        lambda turn: bool(turn == "waiting"),
    )
