"""Forks and snapshots on the page of a real Atoll."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from atoll.testing.server import TestServer
from tests.e2e.page.test_people import owner
from tests.peers.api import Api
from tests.peers.browsers import chromium, needs_chromium

pytestmark = [pytest.mark.timeout(300), needs_chromium]


async def choose(page: Page, entry: str) -> None:
    """Choose an entry of the sandbox's menu."""
    await page.get_by_role("button", name="More about this sandbox").click()
    await page.get_by_role("button", name=entry).click()


def names(api: Api) -> set[str]:
    return {one["name"] for one in api.call("GET", "/v1/sandboxes")["sandboxes"]}


@pytest.mark.browser
async def test_sandbox_is_kept_brought_back_and_forked(server: TestServer, api: Api) -> None:
    sandbox = api.create(name="trunk")["sandbox_id"]
    terminal = api.terminal(sandbox)
    api.run(sandbox, "echo one > file")
    async with chromium() as browser, owner(browser, server, sandbox, terminal) as page:
        await choose(page, "Snapshots…")
        dialog = page.get_by_role("dialog", name="Snapshots of trunk")
        await expect(dialog.get_by_text("No snapshots yet.")).to_be_visible()
        await dialog.get_by_role("button", name="Take a snapshot").click()
        row = dialog.get_by_role("listitem")
        await expect(row).to_have_count(1)
        api.run(sandbox, "echo two > file")
        await row.get_by_role("button", name="Restore").click()
        await page.get_by_role("button", name="Restore", exact=True).click()
        await asyncio.to_thread(
            api.until,
            sandbox,
            lambda told: told["generation"] == 2 and told["state"] in ("ready", "active"),
        )
        assert api.run(sandbox, "cat file") == "one\n"
        await choose(page, "Fork…")
        dialog = page.get_by_role("dialog", name="Fork trunk")
        await dialog.get_by_role("radio", name="2", exact=True).click()
        await dialog.get_by_role("button", name="Fork", exact=True).click()
        await expect(dialog).to_have_count(0)
        assert len(names(api)) == 3
        for name in names(api) - {"trunk"}:
            await asyncio.to_thread(api.until, name, lambda told: told["state"] == "ready")
            assert await asyncio.to_thread(api.run, name, "cat file") == "one\n"
