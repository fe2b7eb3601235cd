"""Exports of snapshots: their disks among the contents, which other machines can read.

An export is an explicit act, as is an import. Once the disk is on a machine again, sandboxes begin
as it there as ever.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from atoll.domain.contents.content import Content, Verification
from atoll.domain.errors import AtollError, Conflict, NotFound, Unavailable
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import Principal
from atoll.domain.snapshots.snapshot import (
    Snapshot,
    SnapshotExport,
    check_exportable,
    check_may_remove,
    exported,
)
from atoll.ports import Transaction
from atoll.ports.contents.snapshot_disks import SnapshotDisks
from atoll.services.contents.contents import Contents
from atoll.services.ground import Ground
from atoll.services.lifecycle.snapshots import find_snapshot
from atoll.wire.words.sandboxes import SnapshotState

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ExportPorts:
    """The places of exports: the contents, the disks of this machine, and a folder of the control
    plane's own for an image that comes back, which exists."""

    contents: Contents
    disks: SnapshotDisks
    folder: Path


class SnapshotExports:
    """Use cases on exports, which a snapshot's owner and administrators have. `ports` is None where
    an installation keeps no contents: then everything is refused."""

    def __init__(self, ground: Ground, ports: ExportPorts | None) -> None:
        self._ground = ground
        self._ports = ports
        self._busy: set[SnapshotId] = set()

    async def export(self, caller: Principal, ref: str) -> Snapshot:
        """Keep a snapshot's disk among the contents; one that is there already stays. Raises
        `NotFound`, also where the disk is not on this machine, `Forbidden`, `Conflict`, and what
        contents raise: nothing is kept then."""
        snapshot = await self._find(caller, ref)
        check_exportable(snapshot)
        if snapshot.export is not None:
            return snapshot
        ports = self._begin(snapshot)
        made: list[Snapshot] = []
        try:
            disk = await ports.disks.lend(snapshot.id)

            async def settle(rows: Transaction, content: Content) -> None:
                export = SnapshotExport(content.id, disk.uid, content.stored, content.made_at)
                made.append(await _note_export(rows, snapshot.id, export))

            await ports.contents.keep(snapshot.org_id, disk.path, then=settle)
        finally:
            try:
                await _end_loan(ports.disks, snapshot.id)
            finally:
                self._busy.discard(snapshot.id)
        return made[0]

    async def verify(self, caller: Principal, ref: str) -> Verification:
        """Read all that was stored for a snapshot, and return what of it is damaged. Raises
        `NotFound`, `Forbidden`, `Conflict` (code `not_exported`), `Unavailable`."""
        snapshot = await self._find(caller, ref)
        export = exported(snapshot)
        return await self._places().contents.verify(snapshot.org_id, export.content)

    async def bring_back(self, caller: Principal, ref: str) -> Snapshot:
        """Bring a snapshot's disk back to this machine; one that is there already stays. Raises
        `NotFound`, `Forbidden`, `Conflict` (code `not_exported`), and what contents raise, above
        all `Failed` (code `content_damaged`): nothing comes back then."""
        snapshot = await self._find(caller, ref)
        check_exportable(snapshot)
        export = exported(snapshot)
        ports = self._begin(snapshot)
        image = ports.folder / snapshot.id
        try:
            image.unlink(missing_ok=True)
            await ports.contents.fetch(snapshot.org_id, export.content, image)
            await ports.disks.admit(snapshot.id, image, export.uid)
            await self._check_stays(snapshot, ports)
        finally:
            image.unlink(missing_ok=True)
            self._busy.discard(snapshot.id)
        return snapshot

    async def _check_stays(self, snapshot: Snapshot, ports: ExportPorts) -> None:
        """Drop a disk that came back while its snapshot was removed: nothing else would. Raises
        `NotFound` then."""
        async with self._ground.store.read() as rows:
            there = await rows.snapshots.get(snapshot.id)
        if there is None or there.state is not SnapshotState.READY:
            await ports.disks.drop(snapshot.id)
            raise NotFound(f"Snapshot {snapshot.name} was removed while it was brought back.")

    async def _find(self, caller: Principal, ref: str) -> Snapshot:
        async with self._ground.store.read() as rows:
            snapshot = await find_snapshot(rows, caller, ref)
        check_may_remove(caller, snapshot)
        return snapshot

    def _places(self) -> ExportPorts:
        if self._ports is None:
            raise Conflict("This installation keeps no contents.", code="not_promised")
        return self._ports

    def _begin(self, snapshot: Snapshot) -> ExportPorts:
        """Note that a snapshot's disk is moved. Raises `Conflict` while it is already,
        `Unavailable` on a replica that does not lead: disks are on the leader's machine."""
        ports = self._places()
        if not self._ground.leadership.leads:
            raise Unavailable("Disks of snapshots are moved by the replica that leads: ask it.")
        if snapshot.id in self._busy:
            raise Conflict(f"Snapshot {snapshot.name} is being exported or imported: wait for it.")
        self._busy.add(snapshot.id)
        return ports


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
