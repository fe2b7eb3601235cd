"""What a scripted server knows once the page's requests have come to it.

A key or a click returns before the request that it causes is there, so nothing may be asserted
of the server directly after it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from playwright.async_api import Page, Response

T = TypeVar("T")
PATIENCE_SECONDS = 60


async def learns(page: Page, look: Callable[[], T], wanted: T) -> None:
    """Wait until the server knows this: `look` is called again after each answer to the page."""
    known = asyncio.Event()

    def answered(_: Response) -> None:
        if look() == wanted:
            known.set()

    page.on("response", answered)
    try:
        if look() != wanted:
            with suppress(TimeoutError):
                await asyncio.wait_for(known.wait(), PATIENCE_SECONDS)
    finally:
        page.remove_listener("response", answered)
    assert look() == wanted
