"""A scripted server and a real Chromium looking at it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright

from .open_page import OpenPage
from .scripted import STATIC, TICKET, ScriptedServer, scripted_server

CHROMIUM = Path("/usr/bin/chromium")
#: Software rendering, so that WebGL works on a machine without a GPU.
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[ScriptedServer]:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page is not built: run `npm ci && npm run build` in ui/")
    async with scripted_server() as started:
        yield started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        await started.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """A tab with the test hooks on, which fails its test on any script error."""
    context = await browser.new_context(viewport={"width": 1200, "height": 800})
    await context.add_init_script("localStorage.setItem('atoll.test', '1')")
    tab = await context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on(
        "console",
        lambda said: errors.append(said.text) if "Content Security" in said.text else None,
    )
    tab.set_default_timeout(60_000)
    yield tab
    await context.close()
    assert errors == []


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(server: ScriptedServer, page: Page) -> OpenPage:
    """A logged-in person in front of one sandbox with one terminal."""
    sandbox = server.add_sandbox("demo", agent="claude")
    terminal = server.add_terminal(sandbox)
    await page.goto(f"{server.url}#login={TICKET}")
    await page.locator(".row").first.click()
    open_page = OpenPage(server, page, sandbox, terminal)
    await open_page.sees("$")
    return open_page
