"""Snapshots that profiles have taken: after so much time of use, and after ends of sandboxes.

The leader looks at the sandboxes that it knows. What a look finds due is taken once: the newest
snapshot says since when nothing was.
"""

from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import CheckpointRule
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.services.snapshots.rotation import SnapshotRotation
from atoll.wire.words.sandboxes import CheckpointEnd, State

LOOK_EVERY: Final = timedelta(seconds=1)
"""At what this process knows: an end must not be over before it is seen."""

ASK_AGAIN: Final = timedelta(seconds=30)
"""The store about a sandbox that has not changed."""

AFTER_FAILURE: Final = timedelta(minutes=5)

_log = structlog.get_logger(__name__)


class SnapshotSchedule:
    """The leader's look at sandboxes whose profile has snapshots taken."""

    def __init__(self, ground: Ground, directory: Directory, keeper: SnapshotKeeper) -> None:
        self._ground = ground
        self._directory = directory
        self._keeper = keeper
        self._rotation = SnapshotRotation(keeper)
        self._settled: dict[SandboxId, tuple[datetime | None, datetime]] = {}

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
        ruled = [each for each in self._directory.known() if each.profile.checkpoint is not None]
        known = {each.id for each in ruled}
        self._settled = {id_: at for id_, at in self._settled.items() if id_ in known}
        self._rotation.forget_others(known)
        for sandbox in ruled:
            if self._is_settled(sandbox):
                continue
            again = ASK_AGAIN
            try:
                await self._look_at(sandbox)
            except AtollError as error:
                again = AFTER_FAILURE
                _log.warning("checkpoint_not_taken", sandbox=sandbox.id, reason=error.message)
            self._settled[sandbox.id] = (_change_of(sandbox), self._ground.clock.now() + again)

    def _is_settled(self, sandbox: Sandbox) -> bool:
        """Return whether a sandbox was looked at lately, and has come to no other end since."""
        if sandbox.id not in self._settled:
            return False
        change, until = self._settled[sandbox.id]
        return change == _change_of(sandbox) and self._ground.clock.now() < until

    async def _look_at(self, known: Sandbox) -> None:
        async with self._ground.store.read() as rows:
            sandbox = await rows.sandboxes.get(known.id)
            automatic = await rows.snapshots.automatic(known.id)
        rule = None if sandbox is None else sandbox.profile.checkpoint
        if sandbox is None or rule is None:
            return
        # Those after turns are kept by themselves, so that they drive none of these out.
        taken = [each for each in automatic if each.turn is None]
        newest = taken[-1].created_at if taken else None
        if is_due(sandbox, rule, newest, self._ground.clock.now()):
            await self._rotation.take(sandbox, SnapshotRequest(automatic=True), taken, rule.keep)
        else:
            await self._keeper.drop_oldest(taken, rule.keep)


def _change_of(sandbox: Sandbox) -> datetime | None:
    """Return when an ended sandbox last changed. One that runs changes with each use."""
    return None if sandbox.state in RUNNING else sandbox.updated_at


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
