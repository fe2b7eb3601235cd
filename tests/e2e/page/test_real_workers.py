"""A worker from its creation to its stop on the page of a real Atoll, in a sandbox that is there;
a linked machine, and a login of an agent."""

import shlex
from collections.abc import Iterator

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer, test_server
from tests.e2e.page.test_machines import MILLISECONDS, PLAYED
from tests.e2e.page.test_real_page import LINK, tab
from tests.e2e.page.ui.open_page import visit
from tests.peers.api import api_of
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(300),
    needs_chromium,
]

WALL = {"level": "none", "mechanism": "none", "degraded": ["all: no wall was asked for"]}


@pytest.fixture
def server() -> Iterator[TestServer]:
    with test_server() as started:
        yield started


async def test_worker_is_created_stopped_and_forgotten_on_the_page(server: TestServer) -> None:
    with api_of(server) as api:
        path = {"PATH": "/workspace/bin:/usr/local/bin:/usr/bin:/bin"}
        sandbox = str(api.create(name="box", env=path)["sandbox_id"])
        program = shlex.quote(PLAYED)
        api.run(sandbox, f"mkdir -p bin && printf %s {program} > bin/claude && chmod +x bin/claude")
        async with chromium() as browser:
            page = await tab(browser, LINK.findall(server.log.read_text())[0])
            page.set_default_timeout(MILLISECONDS)
            await visit(page, "Workers")
            await created(page)
            shown = api.call("GET", "/v1/workers/docs/snapshot")
            assert (shown["agent"], shown["permissions"]) == ("claude-code", "ask")
            assert shown["workspace_ref"] == f"sandbox:{sandbox}/workspace"
            log = page.get_by_role("log", name="What the agent did")
            await expect(log).to_contain_text("The worker runs")
            await page.get_by_role("button", name="Stop", exact=True).click()
            await page.get_by_role("button", name="Stop it").click()
            stopped = page.locator("[data-status='stopped']")
            await expect(stopped).to_be_visible(timeout=MILLISECONDS)
            await page.get_by_role("button", name="claude-code, asks first").click()
            await page.get_by_role("button", name="Delete what it said").click()
            await page.get_by_role("button", name="Delete it").click()
            await expect(log).to_contain_text("What came before is no longer kept.")
            await expect(log.get_by_text("The worker runs")).to_have_count(0)
            assert api.call("GET", f"/v1/sandboxes/{sandbox}")["state"] == "active"


async def created(page: Page) -> None:
    """The worker `docs`, after the server refused a first attempt at the field it was about."""
    await page.get_by_role("button", name="New worker").click()
    dialog = page.get_by_role("dialog", name="New worker")
    await dialog.get_by_label("Name").fill("docs")
    await dialog.get_by_label("Agent", exact=True).select_option("claude-code")
    await dialog.get_by_label("For", exact=True).fill("soon")
    await dialog.get_by_role("button", name="Create worker").click()
    await expect(dialog.get_by_label("For", exact=True)).to_be_focused()
    await expect(dialog.get_by_role("alert")).to_contain_text("teardown.retain_for")
    await dialog.get_by_label("Where it runs").select_option(label="box")
    await dialog.get_by_role("button", name="Create worker").click()
    await expect(page.get_by_role("heading", name="docs", level=1)).to_be_visible()
    await expect(page.locator("[data-status='running']")).to_be_visible(timeout=MILLISECONDS)


async def test_machine_is_unlinked_and_a_login_turned_on_and_ended(server: TestServer) -> None:
    with api_of(server) as api:
        api.call("PUT", "/v1/desktops/laptop")
        api.call("PUT", "/v1/desktops/laptop/presence", json={"isolation": WALL})
        async with chromium() as browser:
            page = await tab(browser, LINK.findall(server.log.read_text())[0])
            page.set_default_timeout(MILLISECONDS)
            await visit(page, "Workers")
            section = page.get_by_role("region", name="Your own machines")
            await expect(section.locator("[data-lane='runs']")).to_have_text("takes workers")
            await section.get_by_role("button", name="Unlink laptop").click()
            await page.get_by_role("button", name="Unlink it").click()
            await expect(section.get_by_text("No machine is linked.")).to_be_visible()
            assert api.call("GET", "/v1/desktops")["desktops"] == []
            await visit(page, "Secrets and approvals")
            await page.get_by_role("button", name="Log an agent in").click()
            dialog = page.get_by_role("dialog", name="Log an agent in")
            await dialog.get_by_role("button", name="Begin").click()
            await expect(dialog.get_by_role("alert")).to_contain_text("an administrator sets it")
            await dialog.get_by_text("An API key").click()
            await dialog.get_by_label("API key", exact=True).fill("sk-test-0123456789abcdef")
            await dialog.get_by_role("button", name="Begin").click()
            await page.get_by_role("button", name="Use it: codex").click()
            await page.get_by_role("button", name="My plan allows it").click()
            row = page.locator("[data-login='ready']")
            await expect(row).to_contain_text("in use")
            (login,) = api.call("GET", "/v1/agent-logins")["logins"]
            assert (login["agent"], login["in_use"]) == ("codex", True)
            await row.get_by_role("button", name="End the login of codex").click()
            await page.get_by_role("button", name="End it").click()
            await expect(page.locator("[data-login='revoked']")).to_be_visible()
            assert "sk-test" not in await page.content()
