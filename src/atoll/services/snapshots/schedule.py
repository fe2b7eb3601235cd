"""Snapshots that profiles have taken: after so much time of use, and after ends.

The leader looks at the sandboxes that it knows. What a look finds due is taken once: the newest
snapshot says since when nothing was.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.people.principal import SYSTEM
from atoll.domain.profile.profile import CheckpointRule
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.snapshots.snapshots import SnapshotRequest, Snapshots
from atoll.wire.words.sandboxes import CheckpointEnd, State

LOOK_EVERY: Final = timedelta(seconds=15)
AFTER_FAILURE: Final = timedelta(minutes=5)

_log = structlog.get_logger(__name__)


class SnapshotSchedule:
    """The leader's look at sandboxes whose profile has snapshots taken."""

    def __init__(self, ground: Ground, directory: Directory, snapshots: Snapshots) -> None:
        self._ground = ground
        self._directory = directory
        self._snapshots = snapshots
        self._failed: dict[str, datetime] = {}

    async def run(self) -> None:
        """Look at intervals, until cancelled."""
        clock = self._ground.clock
        while True:
            try:
                await self.look()
            except AtollError as error:
                _log.warning("checkpoints_not_looked_at", reason=error.message)
            await clock.sleep_until(clock.now() + LOOK_EVERY)

    async def look(self) -> None:
        """Take every snapshot that is due, and drop those beyond what is kept."""
        now = self._ground.clock.now()
        ruled = [each for each in self._directory.known() if each.profile.checkpoint is not None]
        for sandbox in ruled:
            if self._failed.get(sandbox.id, now) > now:
                continue
            try:
                await self._look_at(sandbox)
                self._failed.pop(sandbox.id, None)
            except AtollError as error:
                self._failed[sandbox.id] = now + AFTER_FAILURE
                _log.warning("checkpoint_not_taken", sandbox=sandbox.id, reason=error.message)

    async def _look_at(self, known: Sandbox) -> None:
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(known.id)
            taken = await rows.snapshots.automatic(known.id)
        rule = None if sandbox is None else sandbox.profile.checkpoint
        if sandbox is None or rule is None:
            return
        newest = taken[-1].created_at if taken else None
        if is_due(sandbox, rule, newest, self._ground.clock.now()):
            request = SnapshotRequest(automatic=True)
            taken.append(await self._snapshots.take_of(sandbox, request, SYSTEM))
        await self._drop_oldest(taken, rule.keep)

    async def _drop_oldest(self, taken: list[Snapshot], keep: int) -> None:
        for snapshot in taken[:-keep]:
            await self._snapshots.drop(snapshot, SYSTEM)


def is_due(sandbox: Sandbox, rule: CheckpointRule, newest: datetime | None, now: datetime) -> bool:
    """Report whether a snapshot is due, after the newest one that was taken by itself."""
    since = newest or sandbox.ready_at
    if since is None:
        return False
    if sandbox.state in RUNNING:
        used = sandbox.last_used_at or sandbox.last_active_at
        every = rule.every_seconds
        passed = every is not None and now - since >= timedelta(seconds=every)
        return passed and used is not None and used > since
    ended = _end_of(sandbox)
    return ended in rule.ends and (newest is None or newest < sandbox.updated_at)


def _end_of(sandbox: Sandbox) -> CheckpointEnd | None:
    if sandbox.asleep:
        return CheckpointEnd.SLEEP
    if sandbox.state is State.STOPPED:
        return CheckpointEnd.STOP
    return CheckpointEnd.EXPIRE if sandbox.state is State.EXPIRED else None
