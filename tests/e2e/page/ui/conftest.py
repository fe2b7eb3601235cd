"""A scripted server and a real Chromium looking at it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from .open_page import OpenPage, launched, opened, tab_of
from .scripted import STATIC, ScriptedServer, scripted_server


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[ScriptedServer]:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page is not built: run `npm ci && npm run build` in ui/")
    async with scripted_server() as started:
        yield started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    async with tab_of(browser) as tab:
        yield tab


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(server: ScriptedServer, page: Page) -> OpenPage:
    return await opened(server, page)
