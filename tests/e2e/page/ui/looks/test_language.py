"""The page in the pseudo-language: what it says itself is accented, and only data stays plain."""

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from tests.e2e.page.ui.open_page import OpenPage, opened
from tests.e2e.page.ui.scripted import ScriptedServer

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

_SAID = """() => {
  const said = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const place = walker.currentNode.parentElement;
    if (place.closest('.xterm, script, noscript, style, kbd, code') === null)
      said.push(walker.currentNode.data);
  }
  for (const one of document.querySelectorAll('[aria-label], [title], [placeholder]'))
    if (one.closest('.xterm') === null)
      for (const name of ['aria-label', 'title', 'placeholder'])
        said.push(one.getAttribute(name) ?? '');
  return said;
}"""
DATA = {
    "demo",
    "claude",
    "Atoll",
    "atoll",
    "bash",
    "shell",
    "container",
    "limited",
    "profile",
    "sb",
}
"""Names, and words of the server: those stay as they are."""
PAGES = ("secrets", "inbox", "notifications", "dashboards", "terminals")


async def plain_words(page: Page) -> set[str]:
    """The words without an accent: each accented one has no plain letter left."""
    said: list[str] = await page.evaluate(_SAID)
    return {word for text in said for word in re.findall(r"[A-Za-z]{2,}", text)} - DATA


@pytest_asyncio.fixture(loop_scope="session")
async def tab(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context(locale="en-XA", viewport={"width": 1200, "height": 800})
    await context.add_init_script("localStorage.setItem('atoll.test', '1')")
    page = await context.new_page()
    page.set_default_timeout(60_000)
    yield page
    await context.close()


async def test_page_in_another_language_says_nothing_in_english(
    server: ScriptedServer, tab: Page
) -> None:
    there: OpenPage = await opened(server, tab)
    assert await there.page.evaluate("document.documentElement.lang") == "en-XA"
    found = {"sandbox": await plain_words(tab)}
    for name in PAGES:
        await tab.goto(f"{server.url}#/{name}")
        await tab.locator("h1").first.wait_for()
        found[name] = await plain_words(tab)
    assert {name: words for name, words in found.items() if words} == {}
