"""Exports for tests: disks in folders, one snapshot that can be exported, and a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from atoll.adapters.blobs.folder import FolderBlobs
from atoll.adapters.contents.disk_images import FileImages
from atoll.adapters.contents.sealer import ZstdAesSealer
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.errors import Conflict, Invalid, LimitReached, NotFound
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Snapshot, snapshot_of
from atoll.ports.contents.snapshot_disks import LentDisk
from atoll.ports.extension import KeptDisk
from atoll.services.contents.contents import Contents
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskPlaces, DiskReturns
from atoll.services.ground import Ground
from atoll.services.snapshots.exports import SnapshotExports
from atoll.testing import samples
from atoll.wire.words.sandboxes import DiskPromise, Scope, SnapshotState
from tests.services.contents.keeping import Keeping, image, keeping
from tests.services.scene import scene

UID = 1_900_000_077
DATA = image(3, rest=999)


class FolderDisks:
    """A `SnapshotDisks` in folders."""

    def __init__(self, folder: Path) -> None:
        self.free = 2**40
        self.images = True
        self.kept, self.lent = folder / "kept", folder / "lent"
        for place in (self.kept, self.lent):
            place.mkdir()

    async def find(self, snapshot: SnapshotId, room: int = 0) -> bool:
        here = (self.kept / snapshot).exists()
        if not here and room and not self.images:
            raise Conflict("here files lie in plain folders")
        if not here and room > self.free:
            raise LimitReached("the disk is full")
        return here

    async def lend(self, snapshot: SnapshotId) -> LentDisk:
        if not (self.kept / snapshot).exists():
            raise NotFound("there is no snapshot")
        (self.lent / snapshot).write_bytes((self.kept / snapshot).read_bytes())
        return LentDisk(self.lent / snapshot, UID)

    async def end_loan(self, snapshot: SnapshotId) -> None:
        (self.lent / snapshot).unlink(missing_ok=True)

    async def admit(self, snapshot: SnapshotId, image: Path, uid: int) -> KeptDisk:
        if uid != UID:
            raise Invalid("another user")
        if not self.images:
            raise AssertionError("it was fetched for nothing")
        if not (self.kept / snapshot).exists():
            (self.kept / snapshot).write_bytes(image.read_bytes())
        return KeptDisk((self.kept / snapshot).stat().st_size, 0)

    async def drop(self, snapshot: SnapshotId) -> None:
        (self.kept / snapshot).unlink(missing_ok=True)


@dataclass
class Exporting:
    """Exports, one snapshot that can be exported, and what they stand on."""

    exports: SnapshotExports
    returns: DiskReturns
    ground: Ground
    snapshot: Snapshot
    disks: FolderDisks
    place: Keeping
    folder: Path

    async def stored(self) -> Snapshot:
        """Return the snapshot's row."""
        async with self.place.store.read() as rows:
            snapshot = await rows.snapshots.get(self.snapshot.id)
        assert snapshot is not None
        return snapshot

    def copy(self) -> Sandbox:
        """Return a sandbox that is to begin as the snapshot."""
        copy = replace(samples.sandbox("copy"), owner=LOCAL_PERSON.id, seed=self.snapshot.id)
        return replace(copy, ready_at=None)

    def lose(self) -> None:
        """Remove the disk from the machine."""
        (self.disks.kept / self.snapshot.id).unlink()

    def brought(self) -> bytes:
        """Return the disk that is on the machine."""
        return (self.disks.kept / self.snapshot.id).read_bytes()

    def check_nothing_left(self) -> None:
        """Check that neither a copy nor an image is left."""
        assert list(self.disks.lent.iterdir()) == list(self.folder.iterdir()) == []


def have_disks(returns: DiskReturns, ground: Ground, folder: Path) -> FolderDisks:
    """Give a control plane contents and disks in this folder, none yet; return the disks."""
    disks, blobs = FolderDisks(folder), FolderBlobs(folder / "blobs")
    contents = Contents(
        ground, InMemoryVault(), blobs=blobs, sealer=ZstdAesSealer(), images=FileImages()
    )
    (folder / "imports").mkdir()
    own = frozenset({"ext.namespaces"})
    returns._places = DiskPlaces(contents, disks, folder / "imports", backends=own, shared=True)
    return disks


@asynccontextmanager
async def exporting(folder: Path, *, shared: bool = True) -> AsyncIterator[Exporting]:
    """Open exports with one snapshot; `shared` says whether other machines have the contents."""
    images = folder / "imports"
    images.mkdir()
    async with keeping(folder) as place, scene() as other:
        ground = Ground(place.store, other.bus, place.clock, other.ground.ids)
        disks = FolderDisks(folder)
        made = snapshot_of(
            replace(samples.sandbox("box"), owner=LOCAL_PERSON.id, scope=Scope.SHARED),
            snapshot_id=SnapshotId("snap_1"),
            name="one",
            disk=DiskPromise.QUIESCED,
            now=place.clock.now(),
        )
        ready = replace(made, state=SnapshotState.READY, size=len(DATA))
        async with place.store.begin() as rows:
            await rows.snapshots.put(ready)
        (disks.kept / ready.id).write_bytes(DATA)
        own = frozenset({ready.extension})
        places = DiskPlaces(place.contents, disks, images, backends=own, shared=shared)
        orders = DiskOrders(ground)
        returns = DiskReturns(ground, places, orders)
        exports = SnapshotExports(ground, returns, orders)
        yield Exporting(exports, returns, ground, ready, disks, place, images)
