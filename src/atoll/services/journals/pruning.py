"""Removal of events past their retention, a few at a time.

Each batch is a short transaction of its own, and others get their turn between two: the log is
never closed for long, however much there is to remove. Several control planes may do it at once.
Events that a reader has not read yet are kept for it, up to a bound.
"""

from datetime import timedelta

import structlog

from atoll.domain.event import EventDraft
from atoll.domain.event_retention import EventRetention, Removal
from atoll.domain.people.principal import LOCAL_PERSON, SYSTEM
from atoll.services.ground import Ground
from atoll.services.journals.log_readers import UnreadLog, unread
from atoll.services.lifecycle.projections import catch_up
from atoll.services.repetition import pause, sweep_hourly

BATCH = 200
PAUSE = timedelta(milliseconds=50)

LOG = "log"
"""The stream of events about the log itself, for the person who runs the installation."""

_log = structlog.get_logger(__name__)


class EventPruning:
    """The pruning of every stream once an hour."""

    def __init__(self, ground: Ground, retention: EventRetention) -> None:
        self._ground = ground
        self._store, self._clock = ground.store, ground.clock
        self._retention = retention

    async def run(self) -> None:
        """Remove due events at intervals; never returns."""
        await sweep_hourly(
            self._clock, self._turn, failed="events_not_removed", broke="event_pruning_broke"
        )

    async def _turn(self) -> None:
        if removed := await self.sweep():
            _log.info("events_removed", events=removed)

    async def sweep(self) -> int:
        """Remove all due events now, those that nobody waits for first. Returns their number.
        Raises `Unavailable`."""
        async with self._store.read() as rows:
            waiting = await unread(rows, self._ground.published_as)
        if waiting is None:
            return await self._sweep(self._retention, None)
        removed = await self._sweep(self._retention, waiting.position)
        unseen = await self._sweep(self._retention.held, None)
        if unseen:
            await self._report(waiting)
        return removed + unseen

    async def _sweep(self, retention: EventRetention, until: int | None) -> int:
        removed, stream = 0, ""
        while True:
            async with self._store.read() as rows:
                span = await rows.events.next_stream(stream)
            if span is None:
                return removed
            stream = span.stream
            removal = retention.due(span, self._clock.now(), limit=BATCH, until=until)
            while removal is not None:
                count = await self._remove(removal)
                removed += count
                if count < BATCH:
                    break
                await pause(self._clock, PAUSE)

    async def _remove(self, removal: Removal) -> int:
        async with self._store.begin() as rows:
            # First: what is derived must not miss what is removed.
            await catch_up(rows)
            count = await rows.events.remove(removal)
            if count:
                await rows.projections.keep(removal.stream)
        return count

    async def _report(self, waiting: UnreadLog) -> None:
        """Report that readers lose events, which had been kept for them long enough."""
        _log.warning("events_removed_unread", readers=waiting.readers)
        draft = EventDraft(
            id=self._ground.ids.event(),
            stream=LOG,
            event_type="log.pruned",
            at=self._clock.now(),
            org_id=LOCAL_PERSON.org_id,
            owner=LOCAL_PERSON.id,
            actor=SYSTEM,
            reason=None,
            payload={"readers": [*waiting.readers], "after": waiting.position},
        )
        async with self._store.begin() as rows:
            await rows.events.append((draft,))
        self._ground.bus.announce((LOG,))
