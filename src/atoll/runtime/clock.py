"""The clocks of a runtime: wall-clock time as the contract writes it, and a timer of the loop."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime


def timestamp() -> str:
    """Return the present as RFC 3339 UTC with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Alarm:
    """A timer that calls `act` at the deadline, or earlier. A deadline that was postponed costs one
    call without effect, which is cheaper than a new timer for each change."""

    __slots__ = ("_act", "_due", "_loop", "_timer")

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.Handle | None = None
        self._due = 0.0

    def set(self, deadline: float | None) -> None:
        """Set when `act` is due, on the loop's clock; None cancels."""
        if deadline is not None and self._timer is not None and self._due <= deadline:
            return
        self.cancel()
        if deadline is not None:
            # Kept here, because uvloop's handle of a deadline that is past has no `when`.
            self._due = deadline
            self._timer = self._loop.call_at(deadline, self._ring)

    def cancel(self) -> None:
        """Cancel the deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._act()
