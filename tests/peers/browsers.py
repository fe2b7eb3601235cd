"""The browsers of tests: whole Chromium, and its headless shell for most of them.

The shell is built of Chromium's own sources: it lays out, draws, runs and refuses pages as whole
Chromium does, for two thirds of the processor time, since it has no windows, settings and services.
What runs whole, and why: docs/change/tests.md. Without the shell everything does, and with
`ATOLL_TEST_CHROMIUM=whole`.
"""

import os
from asyncio import AbstractEventLoop, get_running_loop
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser, async_playwright

CHROMIUM = Path("/usr/bin/chromium")
SHELL = Path("/usr/bin/chromium-headless-shell")
EVERYTHING_WHOLE = os.environ.get("ATOLL_TEST_CHROMIUM") == "whole"
_WITHOUT_NETWORKS = Path(__file__).with_name("browser_without_networks.py")
_ALWAYS = (
    "--no-sandbox",
    # Letters as wide as whole Chromium's: the shell rounds them to whole pixels.
    "--font-render-hinting=none",
)
_WITHOUT_GRAPHICS = "--disable-gpu"

CALM: Final[dict[str, Any]] = {"service_workers": "block", "reduced_motion": "reduce"}
"""A context for what is neither about motion nor about the service worker. What moves is drawn
sixty times a second, and a worker's start takes a fifth of a page's."""

needs_chromium = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="no Chromium: install the package `chromium`"
)


def program(*, whole: bool = False) -> Path:
    """Return the browser's program: the shell, or whole Chromium where it is asked for or alone."""
    return CHROMIUM if whole or EVERYTHING_WHOLE or not SHELL.exists() else SHELL


@dataclass
class _Shared:
    """The browsers of tests that run on one event loop."""

    loop: AbstractEventLoop
    stack: AsyncExitStack
    idle: dict[Path, list[Browser]] = field(default_factory=lambda: defaultdict(list))


_shared: list[_Shared] = []


@asynccontextmanager
async def shared_browsers() -> AsyncIterator[None]:
    """Have `chromium` on this event loop use one browser of each kind, up to the end of this: a
    start costs more than most tests. Each use ends with all the contexts it made."""
    async with AsyncExitStack() as stack:
        _shared.append(_Shared(get_running_loop(), stack))
        try:
            yield
        finally:
            _shared.pop()


@asynccontextmanager
async def chromium(
    *flags: str, whole: bool = False, graphics: bool = False, path: Path | None = None
) -> AsyncIterator[Browser]:
    """Run a browser, with further flags. `graphics` gives it a graphics card's process, which draws
    in software: slower than without. `path` is a program that runs the browser elsewhere."""
    usual = not (flags or graphics or path)
    if usual and _shared and _shared[-1].loop is get_running_loop():
        async with _lent(_shared[-1], whole=whole) as browser:
            yield browser
        return
    words = [*_ALWAYS, *flags, *([] if graphics else [_WITHOUT_GRAPHICS])]
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(
            executable_path=path or _WITHOUT_NETWORKS,
            args=words,
            env={**os.environ, "ATOLL_TEST_BROWSER": str(program(whole=whole))},
        )
        yield started
        await started.close()


@asynccontextmanager
async def _lent(shared: _Shared, *, whole: bool) -> AsyncIterator[Browser]:
    """A shared browser that nobody else uses now."""
    idle = shared.idle[program(whole=whole)]
    while idle and not idle[-1].is_connected():
        idle.pop()
    own = chromium(_WITHOUT_GRAPHICS, whole=whole)
    browser = idle.pop() if idle else await shared.stack.enter_async_context(own)
    try:
        yield browser
    finally:
        for context in browser.contexts:
            await context.close()
        idle.append(browser)
