"""The end of a runtime that was started only to read what a sandbox keeps.

It ends by itself once nobody has asked it anything for a while, so that a control plane that
crashed leaves nothing running. A request under way keeps it; one whose client is gone is over.
"""

import asyncio
from collections.abc import Callable

from aiohttp import web
from aiohttp.typedefs import Handler


class IdleEnd:
    """Counter of the requests of one runtime; it does nothing until `begin`."""

    def __init__(self) -> None:
        self._under_way = 0
        self._seconds: int | None = None
        self._end: Callable[[], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def watching(self, app: web.Application) -> web.Application:
        """Return the same application, whose requests are counted."""

        @web.middleware
        async def count(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._under_way += 1
            try:
                return await handler(request)
            finally:
                self._under_way -= 1
                self._wait()

        app.middlewares.insert(0, count)
        return app

    def begin(self, seconds: int | None, end: Callable[[], None]) -> None:
        """Call `end` after `seconds` without a request from now on; None never does."""
        self._seconds, self._end = seconds, end
        self._wait()

    def close(self) -> None:
        """Call nothing any more."""
        self._seconds = None
        self._stop()

    def _wait(self) -> None:
        """Begin to wait anew."""
        self._stop()
        if self._seconds is not None and self._end is not None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._end is not None and not self._under_way:
            self._end()
