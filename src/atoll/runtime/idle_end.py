"""The end of a runtime that was started only to read what a sandbox keeps.

It ends by itself once nobody has asked it anything for a while, so that a control plane that
crashed leaves nothing running. A request under way keeps it; one whose client is gone is over.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator


class IdleEnd:
    """Timer that calls `end` after `seconds` without a request, from `begin` on. With None it never
    calls. The requests of one runtime are counted by `request`."""

    def __init__(self, seconds: int | None, end: Callable[[], None]) -> None:
        self._seconds = seconds
        self._end = end
        self._under_way = 0
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    @contextlib.contextmanager
    def request(self) -> Iterator[None]:
        """Count a request for as long as it is under way."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self.begin()

    def begin(self) -> None:
        """Begin to wait anew."""
        self._stop()
        if self._seconds is not None and not self._closed:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._look)

    def close(self) -> None:
        """Call nothing any more."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if not self._under_way:
            self._end()
