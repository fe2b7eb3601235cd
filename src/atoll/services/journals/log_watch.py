"""The watch over the log: new events of other replicas, found also when no announcement came.

One query at an interval for each replica, whatever the number of its readers. An announcement that
was lost between replicas costs its readers that interval, and never an event.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.ports import Clock, Store

PAGE = 1000
PERIOD = timedelta(seconds=5)
PERIOD_ALONE = timedelta(seconds=1)
"""The interval while other replicas cannot be heard."""

_log = structlog.get_logger(__name__)

Wake = Callable[[Iterable[str] | None], None]
"""Wakes the listeners of these streams in this process, or with None all of them."""


class LogWatch:
    """The watch of one replica. Without `wake` it does nothing: one process hears itself."""

    def __init__(
        self, store: Store, clock: Clock, *, wake: Wake | None, alone: Callable[[], bool]
    ) -> None:
        self._store = store
        self._clock = clock
        self._wake = wake
        self._alone = alone

    async def run(self) -> None:
        """Look at intervals; never returns where there are other replicas."""
        if self._wake is None:
            return
        position: int | None = None
        while True:
            try:
                position = await self._look(self._wake, position)
            except AtollError as error:
                _log.warning("log_not_watched", reason=error.message)
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("log_watch_broke")
            period = PERIOD_ALONE if self._alone() else PERIOD
            await self._clock.sleep_until(self._clock.now() + period)

    async def _look(self, wake: Wake, position: int | None) -> int:
        """Wake the readers of what came after `position`, and return the newest position."""
        async with self._store.read() as rows:
            newest = await rows.events.last_position()
            if position is None or position == newest:
                return newest
            page = await rows.events.after(position, PAGE)
        if len(page) == PAGE:
            wake(None)
            return newest
        wake({event.stream for event in page})
        return max([newest, *(event.position for event in page)])
