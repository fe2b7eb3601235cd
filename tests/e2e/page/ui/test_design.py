"""The states of the page itself, when a part of it cannot be fetched."""

import pytest
from playwright.async_api import Page, expect

from .scripted import TICKET, ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]


async def test_part_that_cannot_be_fetched_says_so_and_comes_by_a_reload(
    server: ScriptedServer, page: Page
) -> None:
    await page.goto(f"{server.url}#login={TICKET}")
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await page.route("**/assets/SecretsPage-*.js", lambda route: route.abort())
    await page.get_by_role("button", name="Secrets and approvals").click()
    trouble = page.get_by_role("alert")
    await expect(trouble).to_contain_text("could not be loaded")
    await page.unroute("**/assets/SecretsPage-*.js")
    await trouble.get_by_role("button", name="Reload").click()
    await expect(page.get_by_role("heading", name="Secrets and approvals")).to_be_visible()
