"""Grants of mounts end with their sandboxes: a person's consent is for one sandbox alone.

A command line writes a grant just before the create that names it, so one that no sandbox names is
left alone while it is young. One that a sandbox named is removed as soon as none does.
"""

from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.ports.outside.mount_grants import MountGrants
from atoll.services.ground import Ground

LOOK_EVERY: Final = timedelta(seconds=30)
UNNAMED_LIFE: Final = timedelta(days=1)
"""The time in which the create of a grant comes."""

_log = structlog.get_logger(__name__)


class MountGrantSweep:
    """The removal of grants that no sandbox has; without `grants` there are none."""

    def __init__(self, ground: Ground, grants: MountGrants | None) -> None:
        self._ground = ground
        self._grants = grants
        self._named: frozenset[str] = frozenset()

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        if self._grants is None:
            return
        clock = self._ground.clock
        while True:
            try:
                await self.sweep(self._grants)
            except AtollError as error:
                _log.warning("mount_grants_not_swept", reason=error.message)
            await clock.sleep_until(clock.now() + LOOK_EVERY)

    async def sweep(self, grants: MountGrants) -> None:
        """Remove the grants that no sandbox has."""
        stored = await grants.find()
        if not stored:
            return
        async with self._ground.store.read() as rows:
            sandboxes = await rows.sandboxes.unfinished()
        named = frozenset(mount.grant for sandbox in sandboxes for mount in sandbox.mounts)
        young = self._ground.clock.now() - UNNAMED_LIFE
        over = {
            grant.name
            for grant in stored
            if grant.name not in named and (grant.name in self._named or grant.written_at <= young)
        }
        self._named = named
        if over:
            await grants.remove(over)
            _log.info("mount_grants_removed", count=len(over))
