"""A scripted server and a real Chromium looking at it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.peers.browsers import CHROMIUM, chromium

from .open_page import OpenPage, opened, tab_of
from .scripted import STATIC, ScriptedServer, scripted_server


@pytest_asyncio.fixture(loop_scope="session")
async def server() -> AsyncIterator[ScriptedServer]:
    if not (STATIC / "index.html").exists():
        pytest.skip("the page is not built: run `npm ci && npm run build` in ui/")
    async with scripted_server() as started:
        yield started
    assert started.faults == []


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def headless_shell() -> AsyncIterator[Browser]:
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def whole_chromium() -> AsyncIterator[Browser]:
    async with chromium(whole=True) as started:
        yield started


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """The session's browser: whole Chromium for a test with the mark `whole_chromium`."""
    if not CHROMIUM.exists():
        pytest.skip("no Chromium on this machine: install the package `chromium`")
    whole = request.node.get_closest_marker("whole_chromium")
    chosen: Browser = request.getfixturevalue("whole_chromium" if whole else "headless_shell")
    return chosen


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Page]:
    """A tab, with a service worker for a test with the mark `service_worker`."""
    workers = request.node.get_closest_marker("service_worker") is not None
    async with tab_of(browser, workers=workers) as tab:
        yield tab


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(server: ScriptedServer, page: Page) -> OpenPage:
    return await opened(server, page)
