"""The leader's watch over requests that nobody decides: each is closed the moment it runs out.

Whoever lists requests finds them as they are; this has the log say so, which pages and phones
follow.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.services.approvals.settlement import bring_up_to_date, sweep
from atoll.services.ground import Ground

LOOK: Final = timedelta(seconds=30)
"""The longest time between two looks; the shortest life of a request is longer."""

_log = structlog.get_logger(__name__)


class RequestWatch:
    """The end of requests by time, and by whatever else settled them meanwhile."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def run(self) -> None:
        """Look whenever one runs out, and at intervals, until cancelled."""
        clock = self._ground.clock
        while True:
            nearest: datetime | None = None
            try:
                nearest = await self.look()
            except AtollError as error:
                _log.warning("requests_not_looked_at", reason=error.message)
            latest = clock.now() + LOOK
            await clock.sleep_until(latest if nearest is None else min(nearest, latest))

    async def look(self) -> datetime | None:
        """Close what ran out or is settled; returns when the next one runs out."""
        async with self._ground.store.read() as rows:
            now, waiting = self._ground.clock.now(), await rows.approvals.waiting()
            over = [one for one in waiting if await bring_up_to_date(rows, one, now) is not one]
        if over:
            async with self._ground.store.begin() as rows:
                # As they are now: one may have been decided meanwhile.
                again = [await rows.approvals.get(one.org_id, one.id) for one in over]
                drafts, _ = await sweep(rows, self._ground, [one for one in again if one])
                if drafts:
                    await rows.events.append(drafts)
            self._ground.bus.announce(tuple(one.stream for one in drafts))
        gone = {one.id for one in over}
        return min((one.until for one in waiting if one.until and one.id not in gone), default=None)
