"""Usage as it is written: counted from the log and sampled, by the leader.

Each event of a door is counted once: the counts and the position up to which the log is counted
change in one transaction. What there is at a moment is noted each minute.
"""

from collections import defaultdict
from datetime import datetime, timedelta
from functools import partial

from atoll.domain.event import SANDBOX_STREAMS, Event
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.overview.usage import (
    COARSE,
    DOOR_EVENTS,
    FINE,
    INSTALLATION,
    KEPT,
    DoorCounts,
    Gauges,
    UsageBucket,
    bucket_of,
    counts_of,
)
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.lifecycle.budgets import count_spending
from atoll.services.lifecycle.leases import settle_leases
from atoll.services.repetition import pause, repeat

PAUSE = timedelta(minutes=1)
PAGE = 500
"""Events that are counted in one transaction."""

COUNTED = "usage"
"""The name under which the position in the log is kept, beside those of projections."""

_NONE = DoorCounts()


class UsageSampling:
    """The writer of usage, at work in the leader."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def run(self) -> None:
        """Count and note once a minute; never returns."""
        rest = partial(pause, self._ground.clock, PAUSE)
        await repeat(self.sweep, rest, failed="usage_not_noted", broke="usage_sampling_broke")

    async def sweep(self) -> None:
        """Count what the log has gained, and note what there is now. Raises `Unavailable`."""
        while await self._count():
            pass
        await self._note()

    async def _count(self) -> bool:
        """Count a page of the log. Returns whether more may follow."""
        async with self._ground.store.read() as rows:
            if await rows.projections.position(COUNTED) >= await rows.events.last_position():
                return False
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            newest = await rows.events.last_position()
            position = await rows.projections.position(COUNTED)
            page = await rows.events.after(position, PAGE, kinds=DOOR_EVENTS)
            await _add(rows, page)
            streams = await count_spending(self._ground, rows, page)
            whole = len(page) == PAGE
            if not whole:
                await settle_leases(rows, self._ground.clock.now())
            await rows.projections.set_position(COUNTED, page[-1].position if whole else newest)
        self._ground.bus.announce(sorted(streams))
        return whole

    async def _note(self) -> None:
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            standings = await rows.usage.standings()
            for width, retention in KEPT.items():
                at = bucket_of(now, width)
                for org_id, standing in {**standings, INSTALLATION: Gauges()}.items():
                    await rows.usage.add(UsageBucket(org_id, at, standing, _NONE), width)
                await rows.usage.drop(width, at - retention)


async def _add(rows: Transaction, page: list[Event]) -> None:
    """Add what events count to the buckets of their moments, and to their sandboxes."""
    buckets: defaultdict[tuple[OrgId, timedelta, datetime], DoorCounts] = defaultdict(DoorCounts)
    sandboxes: defaultdict[tuple[OrgId, SandboxId], DoorCounts] = defaultdict(DoorCounts)
    for event in page:
        counts = counts_of(event)
        for width in (FINE, COARSE):
            place = (event.org_id, width, bucket_of(event.at, width))
            buckets[place] = buckets[place].plus(counts)
        sandbox = (event.org_id, SandboxId(event.stream.removeprefix(SANDBOX_STREAMS)))
        sandboxes[sandbox] = sandboxes[sandbox].plus(counts)
    for (org_id, width, at), counts in buckets.items():
        await rows.usage.add(UsageBucket(org_id, at, Gauges(), counts), width)
    for (org_id, sandbox_id), counts in sandboxes.items():
        await rows.usage.count(org_id, sandbox_id, counts)
