"""Removal of events past their retention, a few at a time.

Each batch is a short transaction of its own, and others get their turn between two: the log is
never closed for long, however much there is to remove. Several control planes may do it at once.
"""

from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event_retention import EventRetention
from atoll.ports import Clock, Store
from atoll.services.lifecycle.projections import catch_up

BATCH = 200
PAUSE = timedelta(milliseconds=50)
FIRST_LOOK = timedelta(minutes=1)
NEXT_LOOK = timedelta(hours=1)

_log = structlog.get_logger(__name__)


class EventPruning:
    """The pruning of every stream once an hour."""

    def __init__(self, store: Store, clock: Clock, retention: EventRetention) -> None:
        self._store = store
        self._clock = clock
        self._retention = retention

    async def run(self) -> None:
        """Remove due events at intervals; never returns."""
        await self._pause(FIRST_LOOK)
        while True:
            try:
                removed = await self.sweep()
                if removed:
                    _log.info("events_removed", events=removed)
            except AtollError as err:
                _log.warning("events_not_removed", reason=err.message)
            except Exception:  # noqa: BLE001 - the task's root
                _log.exception("event_pruning_broke")
            await self._pause(NEXT_LOOK)

    async def sweep(self) -> int:
        """Remove all due events now. Returns their number. Raises `Unavailable`."""
        removed, stream = 0, ""
        while True:
            async with self._store.read() as rows:
                span = await rows.events.next_stream(stream)
            if span is None:
                return removed
            stream = span.stream
            removal = self._retention.due(span, self._clock.now(), limit=BATCH)
            while removal is not None:
                async with self._store.begin() as rows:
                    # First: what is derived must not miss what is removed.
                    await catch_up(rows)
                    count = await rows.events.remove(removal)
                    if count:
                        await rows.projections.keep(stream)
                removed += count
                if count < BATCH:
                    break
                await self._pause(PAUSE)

    async def _pause(self, time: timedelta) -> None:
        await self._clock.sleep_until(self._clock.now() + time)
