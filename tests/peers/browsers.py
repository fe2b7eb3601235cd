"""The browsers of tests: whole Chromium, and its headless shell for most of them.

The shell is built of Chromium's own sources: it lays out, draws, runs and refuses pages as whole
Chromium does, for two thirds of the processor time, since it has no windows, settings and services.
What runs whole, and why: docs/change/tests.md. Without the shell everything does, and with
`ATOLL_TEST_CHROMIUM=whole`.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

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

needs_chromium = pytest.mark.skipif(
    not CHROMIUM.exists(), reason="no Chromium: install the package `chromium`"
)


def program(*, whole: bool = False) -> Path:
    """Return the browser's program: the shell, or whole Chromium where it is asked for or alone."""
    return CHROMIUM if whole or EVERYTHING_WHOLE or not SHELL.exists() else SHELL


@asynccontextmanager
async def chromium(
    *flags: str, whole: bool = False, graphics: bool = False, path: Path | None = None
) -> AsyncIterator[Browser]:
    """Run a browser, with further flags. `graphics` gives it a graphics card's process, which draws
    in software: slower than without. `path` is a program that runs the browser elsewhere."""
    words = [*_ALWAYS, *flags, *([] if graphics else ["--disable-gpu"])]
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(
            executable_path=path or _WITHOUT_NETWORKS,
            args=words,
            env={**os.environ, "ATOLL_TEST_BROWSER": str(program(whole=whole))},
        )
        yield started
        await started.close()
