"""Exports of snapshots: their disks among the contents, which other machines can read.

An export is an explicit act. Another machine fetches the disk when a sandbox is to begin as it
there, or when it is asked to.
"""

from dataclasses import replace

import structlog

from atoll.domain.contents.content import Content, ContentId, Verification
from atoll.domain.errors import AtollError, NotFound
from atoll.domain.ids import SnapshotId
from atoll.domain.paging import PageQuery
from atoll.domain.people.principal import Principal
from atoll.domain.snapshots.disk_order import DiskAct, DiskOrder
from atoll.domain.snapshots.snapshot import (
    Snapshot,
    SnapshotExport,
    check_exportable,
    check_may_remove,
    exported,
)
from atoll.ports import Transaction
from atoll.ports.contents.snapshot_disks import SnapshotDisks
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskPlaces, DiskReturns
from atoll.services.ground import Ground
from atoll.services.lifecycle.snapshots import find_snapshot
from atoll.wire.words.sandboxes import MAX_SNAPSHOTS

_log = structlog.get_logger(__name__)


class SnapshotExports:
    """Use cases on exports, which a snapshot's owner and administrators have."""

    def __init__(self, ground: Ground, returns: DiskReturns, orders: DiskOrders) -> None:
        self._ground = ground
        self._returns = returns
        self._orders = orders

    async def export(self, caller: Principal, ref: str) -> Snapshot:
        """Keep a snapshot's disk among the contents; one that is there already stays. Raises
        `NotFound`, also where the disk is not on this machine, `Forbidden`, `Conflict`, and what
        contents raise: nothing is kept then."""
        snapshot = await self._find(caller, ref)
        check_exportable(snapshot)
        if await self._returns.delegate(snapshot, DiskAct.EXPORT):
            return await self._find(caller, snapshot.id)
        return await self._export(snapshot.id)

    async def verify(self, caller: Principal, ref: str) -> Verification:
        """Read all that was stored for a snapshot, and return what of it is damaged. Raises
        `NotFound`, `Forbidden`, `Conflict` (code `not_exported`), `Unavailable`."""
        snapshot = await self._find(caller, ref)
        export = exported(snapshot)
        return await self._returns.places.contents.verify(snapshot.org_id, export.content)

    async def bring_back(self, caller: Principal, ref: str) -> Snapshot:
        """Bring a snapshot's disk back to this machine; one that is there already stays. Raises
        `NotFound`, `Forbidden`, and as `DiskReturns.bring`: nothing comes back then."""
        snapshot = await self._find(caller, ref)
        exported(snapshot)
        if not await self._returns.delegate(snapshot, DiskAct.IMPORT):
            await self._returns.bring(snapshot)
        return snapshot

    async def run(self) -> None:
        """Do what replicas that do not lead are asked for, until cancelled. For the leader."""
        await self._orders.run(self._perform)

    async def _perform(self, order: DiskOrder) -> None:
        match order.act:
            case DiskAct.EXPORT:
                await self._export(order.snapshot_id)
            case DiskAct.IMPORT:
                await self._returns.bring(await self._read(order.snapshot_id))
            case DiskAct.FIND:
                await self._returns.check_in_reach(await self._read(order.snapshot_id))

    async def _export(self, snapshot_id: SnapshotId) -> Snapshot:
        async with self._returns.alone(snapshot_id) as places:
            # Who had the disk before may have exported it.
            snapshot = await self._read(snapshot_id)
            check_exportable(snapshot)
            if snapshot.export is not None:
                return snapshot
            return await self._keep(snapshot, places)

    async def _keep(self, snapshot: Snapshot, places: DiskPlaces) -> Snapshot:
        made: list[Snapshot] = []
        try:
            disk = await places.disks.lend(snapshot.id)

            async def settle(rows: Transaction, content: Content) -> None:
                export = SnapshotExport(content.id, disk.uid, content.stored, content.made_at)
                made.append(await _note_export(rows, snapshot.id, export))

            base = await self._base_of(snapshot)
            await places.contents.keep(snapshot.org_id, disk.path, base, then=settle)
        finally:
            await _end_loan(places.disks, snapshot.id)
        return made[0]

    async def _base_of(self, snapshot: Snapshot) -> ContentId | None:
        """Return the content of the newest export of the same sandbox, which has most of it."""
        async with self._ground.store.read() as rows:
            page = await rows.snapshots.page(
                snapshot.org_id,
                snapshot.owner,
                PageQuery(MAX_SNAPSHOTS),
                sandbox_id=snapshot.source.id,
            )
        exports = (other.export for other in page.rows if other.export is not None)
        return next((export.content for export in exports), None)

    async def _read(self, snapshot_id: SnapshotId) -> Snapshot:
        async with self._ground.store.read() as rows:
            snapshot = await rows.snapshots.get(snapshot_id)
        if snapshot is None:
            raise NotFound("The snapshot was removed meanwhile.")
        return snapshot

    async def _find(self, caller: Principal, ref: str) -> Snapshot:
        async with self._ground.store.read() as rows:
            snapshot = await find_snapshot(rows, caller, ref)
        check_may_remove(caller, snapshot)
        return snapshot


async def _end_loan(disks: SnapshotDisks, snapshot_id: SnapshotId) -> None:
    """End a loan. Where that fails the copy stays until the zygote starts again; what became of
    the export is not changed by it."""
    try:
        await disks.end_loan(snapshot_id)
    except AtollError as error:
        _log.warning("snapshot_loan_not_ended", snapshot=snapshot_id, reason=error.message)


async def _note_export(
    rows: Transaction, snapshot_id: SnapshotId, export: SnapshotExport
) -> Snapshot:
    """Store that a snapshot was exported. Raises `NotFound` where it was removed meanwhile."""
    snapshot = await rows.snapshots.get(snapshot_id)
    if snapshot is None:
        raise NotFound("The snapshot was removed while it was exported.")
    check_exportable(snapshot)
    done = replace(snapshot, export=export)
    await rows.snapshots.put(done)
    return done
