"""One timer for a state machine that says itself when it next has something to do."""

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls `act` at the time last set, or before: a deadline that moves away costs one call
    that changes nothing, where setting the timer anew each time would cost more."""

    __slots__ = ("_act", "_loop", "_timer")

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, deadline: float | None) -> None:
        """When `act` is due, on the loop's clock; None when it is not."""
        if deadline is not None and self._timer is not None and self._timer.when() <= deadline:
            return
        self.cancel()
        if deadline is not None:
            self._timer = self._loop.call_at(deadline, self._ring)

    def cancel(self) -> None:
        """Nothing is due any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _ring(self) -> None:
        self._timer = None
        self._act()
