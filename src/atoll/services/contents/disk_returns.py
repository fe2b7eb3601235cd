"""Returns of snapshots' disks: from the contents to this machine, which lost one or never had it.

Whoever asks for a disk meanwhile waits, so each is fetched once. What is not whole never gets its
place: the image is checked bit by bit before the machine is given it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

from atoll.domain.errors import Conflict, Failed, NotFound, Unavailable
from atoll.domain.ids import SnapshotId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.disk_order import DiskAct
from atoll.domain.snapshots.snapshot import (
    UNSHARED,
    Snapshot,
    check_exportable,
    elsewhere,
    exported,
)
from atoll.ports.contents.snapshot_disks import SnapshotDisks
from atoll.services.contents.contents import Contents
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.ground import Ground
from atoll.wire.words.sandboxes import SnapshotState

FIND_SECONDS: Final = 10.0
"""The time for which the leader is asked whether it has a disk."""

IMAGES_AT_ONCE: Final = 2
"""A disk is there twice for a moment: as it was fetched, and in its place."""

ANY_ROOM: Final = 1
"""The bytes that are asked for where it only counts whether a disk can come at all."""


@dataclass(frozen=True, slots=True)
class DiskPlaces:
    """The places between which disks move: the contents, the disks of this machine, and a folder
    of the control plane's own for an image that comes back, which exists. `backends` begin
    sandboxes as these disks. `shared` says whether other machines have the same contents."""

    contents: Contents
    disks: SnapshotDisks
    folder: Path
    backends: frozenset[str] = frozenset()
    shared: bool = False


class DiskReturns:
    """Returns of disks. `places` is None where an installation keeps no contents: then everything
    is refused, and no sandbox gets a disk."""

    def __init__(self, ground: Ground, places: DiskPlaces | None, orders: DiskOrders) -> None:
        self._ground = ground
        self._places = places
        self._orders = orders
        self._locks: WeakValueDictionary[SnapshotId, asyncio.Lock] = WeakValueDictionary()

    @property
    def places(self) -> DiskPlaces:
        """The places. Raises `Conflict` where there are none."""
        if self._places is None:
            raise Conflict("This installation keeps no contents.", code="not_promised")
        return self._places

    @asynccontextmanager
    async def alone(self, snapshot_id: SnapshotId) -> AsyncIterator[DiskPlaces]:
        """Wait until nobody else moves this snapshot's disk, and keep others from it. Raises
        `Unavailable` on a replica that does not lead: disks are on the leader's machine."""
        places = self.places
        if not self._ground.leadership.leads:
            raise Unavailable("Disks of snapshots are moved by the replica that leads: ask it.")
        lock = self._locks.setdefault(snapshot_id, asyncio.Lock())
        async with lock:
            yield places

    async def delegate(self, snapshot: Snapshot, act: DiskAct) -> bool:
        """Have the leader act on a snapshot's disk, on a replica that does not lead, and return
        whether this is one. Raises what the leader raises there, `Unavailable`."""
        if self.places and self._ground.leadership.leads:
            return False
        await self._orders.ask(snapshot.id, act)
        return True

    async def bring(self, snapshot: Snapshot) -> None:
        """Have a snapshot's disk on this machine; one that is there stays. Raises `NotFound` for
        one that was removed meanwhile, `Conflict` (code `not_exported`, and where this machine
        takes no disks, of which nothing is fetched then), `LimitReached`, and what contents raise,
        above all `Failed` (code `content_damaged`): nothing comes back then."""
        check_exportable(snapshot)
        export = exported(snapshot)
        async with self.alone(snapshot.id) as places:
            content = await places.contents.find(snapshot.org_id, export.content)
            room = max(ANY_ROOM, IMAGES_AT_ONCE * content.data)
            if await places.disks.find(snapshot.id, room):
                return
            image = places.folder / snapshot.id
            try:
                image.unlink(missing_ok=True)
                await places.contents.fetch(snapshot.org_id, export.content, image)
                await places.disks.admit(snapshot.id, image, export.uid)
                await self._check_stays(snapshot, places)
            finally:
                image.unlink(missing_ok=True)

    async def check_in_reach(self, snapshot: Snapshot) -> None:
        """Check, before anything is done for it, that a sandbox can begin as a snapshot. Does
        nothing where `bring_for` does nothing, nor where no leader answers: the bring-up finds out
        then. Raises `Conflict` (code `snapshot_elsewhere`), `Unavailable`."""
        places = self._places
        if places is None or snapshot.extension not in places.backends:
            return
        if self._ground.leadership.leads:
            await _is_here(snapshot, places)
        elif snapshot.export is None and snapshot.forks is None:
            # That of a fork was made a moment ago, where its copies begin.
            with suppress(Unavailable):
                await self._orders.ask(snapshot.id, DiskAct.FIND, seconds=FIND_SECONDS)

    async def bring_for(self, sandbox: Sandbox, report: Callable[[str], None]) -> None:
        """Have the disk that a sandbox begins as on this machine. Does nothing where its backend
        keeps its snapshots elsewhere, or where it does not say what is missing: the backend does.
        Raises as `bring`, and `Conflict` (code `snapshot_elsewhere`) for a snapshot that is neither
        here nor among the contents."""
        places, seed = self._places, sandbox.seed
        if places is None or seed is None or sandbox.profile.extension not in places.backends:
            return
        async with self._ground.store.read() as rows:
            snapshot = await rows.snapshots.get(seed)
        if snapshot is None or snapshot.state is not SnapshotState.READY:
            return
        if await _is_here(snapshot, places):
            return
        report(f"Fetching snapshot {snapshot.name} from the contents.")
        try:
            await self.bring(snapshot)
        except Failed as error:
            if places.shared or error.code != "content_damaged":
                raise
            raise Failed(f"{error.message} {UNSHARED}", code=error.code) from error

    async def _check_stays(self, snapshot: Snapshot, places: DiskPlaces) -> None:
        """Drop a disk that came back while its snapshot was removed: nothing else would. Raises
        `NotFound` then."""
        async with self._ground.store.read() as rows:
            there = await rows.snapshots.get(snapshot.id)
        if there is None or there.state is not SnapshotState.READY:
            await places.disks.drop(snapshot.id)
            raise NotFound(f"Snapshot {snapshot.name} was removed while it was brought back.")


async def _is_here(snapshot: Snapshot, places: DiskPlaces) -> bool:
    """Return whether a snapshot's disk is on this machine; where it is not, it can come. Raises
    `Conflict` where the machine takes no disks, and (code `snapshot_elsewhere`) for one that is not
    among the contents."""
    if await places.disks.find(snapshot.id):
        return True
    if snapshot.export is None:
        raise elsewhere(snapshot, shared=places.shared)
    await places.disks.find(snapshot.id, ANY_ROOM)
    return False
