"""The leader's care for documents that nobody has open: they are compacted, and deleted dashboards
are removed once they cannot be restored. Those without an owner are handed over."""

from datetime import timedelta

import structlog

from atoll.domain.dashboards.dashboard import RESTORABLE
from atoll.domain.errors import AtollError
from atoll.services.dashboards.documents import COMPACT_AFTER, COMPACT_UPDATES, DocumentStore
from atoll.services.ground import Ground
from atoll.services.people.dashboard_owners import DashboardOwners

SWEEP_SECONDS = 60.0
AT_ONCE = 50
"""The documents of one sweep."""

_log = structlog.get_logger(__name__)


class DashboardSweep:
    """The sweep over all dashboards, which the leader runs."""

    def __init__(
        self, ground: Ground, documents: DocumentStore, *, owners: DashboardOwners
    ) -> None:
        self._ground = ground
        self._owners = owners
        self._documents = documents

    async def run(self) -> None:
        """Sweep from time to time until cancelled. Raises nothing."""
        clock = self._ground.clock
        while True:
            await clock.sleep_until(clock.now() + timedelta(seconds=SWEEP_SECONDS))
            try:
                await self.sweep()
            except AtollError as error:
                _log.warning("dashboards_not_swept", reason=error.message)

    async def sweep(self) -> None:
        """Compact what has grown, and remove what was deleted long ago."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            grown = await rows.documents.grown(COMPACT_UPDATES, now - COMPACT_AFTER, AT_ONCE)
            gone = await rows.dashboards.deleted(now - RESTORABLE, AT_ONCE)
        for dashboard_id in grown:
            await self._documents.compact(dashboard_id)
        for dashboard_id in gone:
            async with self._ground.store.begin() as rows:
                await rows.dashboards.erase(dashboard_id)
        await self._owners.sweep()
