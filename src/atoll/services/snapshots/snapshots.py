"""Snapshots: sandboxes' disks as they were, kept where their backend keeps them.

A row says first that one is being made or removed; the work is the leader's. What was interrupted
is dropped: a snapshot is ready and whole, or there is none.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, NotFound
from atoll.domain.ids import SandboxId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox, check_may_manage
from atoll.domain.snapshots.snapshot import (
    Snapshot,
    check_may_remove,
    end_after_sandbox,
)
from atoll.services.ground import Ground
from atoll.services.lifecycle.snapshots import find_snapshot, find_usable_snapshot
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.services.snapshots.prebuilds import Prebuilds
from atoll.wire.words.sandboxes import (
    SnapshotState,
)

MADE_WITHIN: Final = timedelta(minutes=15)
"""The time after which one that is still being made was interrupted."""

_log = structlog.get_logger(__name__)


class Snapshots:
    """Use cases on snapshots. A `ref` of one is its id, or the name of one of the caller's; one
    that the caller may not see is `NotFound`, like one that is missing."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        keeper: SnapshotKeeper,
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._keeper = keeper

    async def take(
        self,
        caller: Principal,
        ref: str,
        request: SnapshotRequest,
        *,
        for_forks: bool = False,
    ) -> Snapshot:
        """Keep a sandbox's disk as it is now, and return it once that is done. Raises `Conflict`
        for what its backend does not promise, and for a sandbox without a disk; `LimitReached`;
        what the backend raises: nothing is kept then."""
        sandbox = await self._sandboxes.get(caller, ref)
        if not for_forks:
            check_may_manage(caller, sandbox)
        return await self._keeper.take(sandbox, request, caller, for_forks=for_forks)

    async def list(
        self, caller: Principal, page: PageQuery, *, ref: str | None = None
    ) -> RowPage[Snapshot]:
        """Return a page of snapshots that the caller may see, newest first; with `ref` those of a
        sandbox, which may be gone."""
        if caller.token is not None and caller.token.sandbox_id is not None:
            return RowPage(())
        sandbox_id = None if ref is None else await self._sandbox_id(caller, ref)
        async with self._ground.store.read() as rows:
            return await rows.snapshots.page(caller.org_id, caller.id, page, sandbox_id=sandbox_id)

    async def get(self, caller: Principal, ref: str) -> Snapshot:
        """Return a snapshot."""
        async with self._ground.store.read() as rows:
            return await find_snapshot(rows, caller, ref)

    async def usable(self, caller: Principal, ref: str) -> Snapshot:
        """Return a snapshot that a sandbox of the caller's may be as. Raises `Conflict`,
        `Forbidden`."""
        async with self._ground.store.read() as rows:
            return await find_usable_snapshot(rows, caller, ref)

    async def remove(self, caller: Principal, ref: str) -> None:
        """Remove a snapshot; sandboxes that began as it keep their files. Raises `Forbidden`, and
        what the backend raises: its removal is tried again then."""
        async with self._ground.store.begin() as rows:
            snapshot = await find_snapshot(rows, caller, ref)
            check_may_remove(caller, snapshot)
            going = replace(snapshot, state=SnapshotState.REMOVING)
            await rows.snapshots.put(going)
        if self._ground.leadership.leads:
            await self._keeper.drop(going, caller)

    async def _sandbox_id(self, caller: Principal, ref: str) -> SandboxId:
        try:
            return (await self._sandboxes.get(caller, ref)).id
        except NotFound:
            return SandboxId(ref)


class SnapshotUpkeep:
    """The leader's look at snapshots: it makes what replicas ask for, and drops what is over."""

    def __init__(self, ground: Ground, keeper: SnapshotKeeper, prebuilds: Prebuilds | None) -> None:
        self._ground = ground
        self._keeper = keeper
        self._prebuilds = prebuilds
        self._began = ground.clock.now()

    async def run(self) -> None:
        """Look at intervals, until cancelled."""
        seconds = 1.0 if self._ground.leadership.shared else 30.0
        clock = self._ground.clock
        while True:
            try:
                await self.look()
            except AtollError as error:
                _log.warning("snapshots_not_looked_at", reason=error.message)
            await clock.sleep_until(clock.now() + timedelta(seconds=seconds))

    async def look(self) -> None:
        """See to every snapshot that is not settled."""
        await self._end_orphans()
        async with self._ground.store.read() as rows:
            unsettled = await rows.snapshots.unsettled(self._ground.clock.now())
        for snapshot in unsettled:
            try:
                await self._see_to(snapshot)
            except AtollError as error:
                _log.warning("snapshot_not_settled", id=snapshot.id, reason=error.message)
        if self._prebuilds is not None:
            await self._prebuilds.drop_unwanted()

    async def _end_orphans(self) -> None:
        """Give those that profiles had taken an end, once their sandbox is destroyed."""
        async with self._ground.store.read() as rows:
            if not await rows.snapshots.orphans():
                return
        async with self._ground.store.begin() as rows:
            for orphan in await rows.snapshots.orphans():
                await rows.snapshots.put(end_after_sandbox(orphan, self._ground.clock.now()))

    async def _see_to(self, snapshot: Snapshot) -> None:
        if snapshot.state is SnapshotState.MAKING and not self._is_interrupted(snapshot):
            if self._ground.leadership.shared and not self._keeper.is_making(snapshot.id):
                await self._keeper.keep(snapshot, SYSTEM)
            return
        if not await self._is_wanted(snapshot):
            await self._keeper.drop(snapshot, SYSTEM)

    def _is_interrupted(self, snapshot: Snapshot) -> bool:
        """Return whether nobody makes a snapshot any more: it is old, or its only control plane is
        another process by now."""
        began, shared = snapshot.created_at, self._ground.leadership.shared
        old = self._ground.clock.now() - began >= MADE_WITHIN
        return old or (not shared and began < self._began)

    async def _is_wanted(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot of a fork has still copies to make: they are not all known yet,
        or one has not begun."""
        if snapshot.forks is None or snapshot.state is not SnapshotState.READY:
            return False
        if not snapshot.forks:
            now = self._ground.clock.now()
            return snapshot.expires_at is not None and now < snapshot.expires_at
        async with self._ground.store.read() as rows:
            forks = [await rows.sandboxes.get(fork) for fork in snapshot.forks]
        return any(fork is not None and _is_to_begin(fork) for fork in forks)


def _is_to_begin(sandbox: Sandbox) -> bool:
    return sandbox.ready_at is None and sandbox.state in LIVE
