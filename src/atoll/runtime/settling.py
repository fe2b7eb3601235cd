"""When a runtime has nothing to do, and that it gives memory back then.

Only requests count: whoever types at a terminal all the while is one long request, and what
an agent says to a door is over as soon as it was said. The control plane's regular look into the
journal does not count: to settle after each would cost more than it gives. How memory is given
back is not here.
"""

import asyncio
from collections.abc import Callable

IDLE_SECONDS = 5.0
"""Seconds without a request before memory is given back. Fetching it again costs the next request
some milliseconds."""

REGULAR = "/journal"


class Settling:
    """Timer that calls `settle` after `IDLE_SECONDS` without the end of a request, from `begin` on;
    with None never."""

    def __init__(self, settle: Callable[[], int] | None) -> None:
        self._settle = settle
        self._timer: asyncio.TimerHandle | None = None
        self._stirred_at = 0.0
        self._closed = False

    def begin(self) -> None:
        """Start a timer unless one runs; a running timer checks at its end whether it was too
        early."""
        if self._settle is None or self._closed:
            return
        loop = asyncio.get_running_loop()
        self._stirred_at = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(IDLE_SECONDS, self._look)

    def request_ended(self, path: str) -> None:
        """Note the end of a request for `path`."""
        if path != REGULAR:
            self.begin()

    def close(self) -> None:
        """Stop permanently."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._settle is None:
            return
        loop = asyncio.get_running_loop()
        due = self._stirred_at + IDLE_SECONDS
        if loop.time() < due:
            self._timer = loop.call_at(due, self._look)
        else:
            self._settle()
