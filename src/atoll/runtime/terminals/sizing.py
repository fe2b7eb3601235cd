"""A terminal's size over time: the first change at once, a storm of them once in a while.

A window being dragged asks for a hundred sizes a second, and every one makes a full-screen
program paint everything.
"""

import asyncio
from collections.abc import Callable

from atoll.domain.terminals.size import Size

CALM_SECONDS = 0.1


class Sizing:
    """Limiter of sizes: passes at most one in `CALM_SECONDS` to `apply`; the last one always
    comes."""

    def __init__(self, apply: Callable[[Size], None]) -> None:
        self._apply = apply
        self._loop = asyncio.get_running_loop()
        self._quiet_from = 0.0
        self._last: Size | None = None
        self._timer: asyncio.TimerHandle | None = None

    def ask(self, size: Size) -> None:
        """Request this size now."""
        self._last = size
        if self._timer is not None:
            return
        if self._loop.time() >= self._quiet_from:
            self._pass()
        else:
            self._timer = self._loop.call_at(self._quiet_from, self._pass)

    def close(self) -> None:
        """Forget what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _pass(self) -> None:
        self._timer = None
        self._quiet_from = self._loop.time() + CALM_SECONDS
        if self._last is not None:
            self._apply(self._last)
