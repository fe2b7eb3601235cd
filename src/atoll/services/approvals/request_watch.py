"""The leader's watch over requests that nobody decides: each is closed the moment it runs out.

Whoever lists requests finds them as they are; this has the log say so, which pages and phones
follow.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.services.approvals.settlement import close_overtaken
from atoll.services.ground import Ground
from atoll.wire.words.approvals import ApprovalState

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
            waiting = await rows.approvals.waiting()
        left = await close_overtaken(self._ground, list(waiting))
        ends = [
            approval.until
            for approval in left
            if approval.verdict is ApprovalState.PENDING and approval.until
        ]
        return min(ends, default=None)
