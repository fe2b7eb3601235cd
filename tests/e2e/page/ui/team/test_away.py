"""The page where no server answers: the browser's own copy of it, and nothing that the API said."""

import pytest
from playwright.async_api import Page, expect

from tests.e2e.page.ui.scripted import TICKET, scripted_server

pytestmark = [
    pytest.mark.browser,
    pytest.mark.service_worker,
    pytest.mark.asyncio(loop_scope="session"),
]

_READY = "navigator.serviceWorker.ready.then(() => undefined)"
_KEPT = """async () => {
  const found = [];
  for (const name of await caches.keys())
    for (const one of await (await caches.open(name)).keys())
      found.push(new URL(one.url).pathname);
  return found;
}"""


async def test_page_without_a_server_says_so_and_comes_back_by_itself(page: Page) -> None:
    async with scripted_server() as server:
        server.add_sandbox("yesterday")
        url, port = server.url, int(server.url.rstrip("/").rpartition(":")[2])
        await page.goto(f"{url}#login={TICKET}")
        await expect(page.locator(".row")).to_have_count(1)
        await page.evaluate(_READY)
        await page.wait_for_function("navigator.serviceWorker.controller !== null")
        await page.reload()
        await expect(page.locator(".row")).to_have_count(1)

    await page.reload()
    await expect(page.get_by_role("heading", name="Atoll cannot be reached")).to_be_visible()
    await expect(page.get_by_text("yesterday")).to_have_count(0)
    kept = await page.evaluate(_KEPT)
    assert "/" in kept
    assert all(one == "/" or one.startswith("/assets/") for one in kept)

    async with scripted_server(port) as server:
        server.add_sandbox("another")
        server.cookies.add("cookie-0")
        await page.get_by_role("button", name="Try again").click()
        # Who was logged in still is.
        await expect(page.get_by_text("another").first).to_be_visible()


async def test_login_link_that_met_no_server_still_works_later(page: Page) -> None:
    async with scripted_server() as server:
        url, port = server.url, int(server.url.rstrip("/").rpartition(":")[2])
        await page.goto(f"{url}#login={TICKET}")
        await expect(page.get_by_role("button", name="New task").first).to_be_visible()
        await page.evaluate(_READY)

    await page.goto(f"{url}#login={TICKET}")
    await expect(page.get_by_role("heading", name="Atoll cannot be reached")).to_be_visible()
    assert TICKET not in page.url
    async with scripted_server(port):
        # Without a click: the page asks again every few seconds.
        await expect(page.get_by_role("button", name="New task").first).to_be_visible(
            timeout=15_000
        )
