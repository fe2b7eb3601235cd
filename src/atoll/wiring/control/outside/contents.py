"""Contents: where the settings have them lie, and what is exported to them."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.blobs.folder import FolderBlobs
from atoll.adapters.blobs.settings import BlobSettings
from atoll.adapters.contents.disk_images import FileImages
from atoll.adapters.contents.sealer import ZstdAesSealer
from atoll.adapters.zygote.snapshot_disks import ZygoteSnapshotDisks
from atoll.adapters.zygote.snapshots import ZygoteSnapshots
from atoll.ports import Extension, Vault
from atoll.ports.contents.blobs import Blobs
from atoll.ports.contents.snapshot_disks import SnapshotDisks
from atoll.services.contents.contents import Contents
from atoll.services.contents.disk_orders import DiskOrders
from atoll.services.contents.disk_returns import DiskPlaces, DiskReturns
from atoll.services.ground import Ground
from atoll.wiring.control.vaulting import lock_key


@dataclass(frozen=True, slots=True)
class ContentPorts:
    """The ports of contents: where blobs lie, the disks of this machine's snapshots, and a folder
    for those that come back. `shared` says whether a setting names the place of the blobs."""

    blobs: Blobs
    disks: SnapshotDisks
    folder: Path
    shared: bool = False


async def open_contents(settings: BlobSettings, home: Path, stack: AsyncExitStack) -> ContentPorts:
    """Open what the settings name. Raises `Failed` for a key that cannot be read."""
    disks = ZygoteSnapshotDisks(home / "run" / "zygote.sock")
    stack.push_async_callback(disks.close)
    folder = home / "imports"
    await asyncio.to_thread(_empty, folder)
    blobs = await _open_blobs(settings, home)
    return ContentPorts(blobs, disks, folder, settings.shared)


def _empty(folder: Path) -> None:
    """Make a folder, and remove what an import left there that was interrupted."""
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()


async def _open_blobs(settings: BlobSettings, home: Path) -> Blobs:
    if settings.bucket is None:
        return FolderBlobs(Path(settings.content_store or home / "contents"))
    from atoll.adapters.blobs.bucket import BucketBlobs

    key = await asyncio.to_thread(settings.credentials, os.environ)
    lock_key(key.secret)
    return BucketBlobs(settings, key)


def build_disk_returns(
    ground: Ground, vault: Vault, ports: ContentPorts | None, extensions: Mapping[str, Extension]
) -> DiskReturns:
    """Return what brings snapshots' disks back; without `ports` it refuses."""
    if ports is None:
        return DiskReturns(ground, None, DiskOrders(ground))
    contents = Contents(
        ground, vault, blobs=ports.blobs, sealer=ZstdAesSealer(), images=FileImages()
    )
    own = frozenset(
        name for name, backend in extensions.items() if isinstance(backend, ZygoteSnapshots)
    )
    places = DiskPlaces(contents, ports.disks, ports.folder, backends=own, shared=ports.shared)
    return DiskReturns(ground, places, DiskOrders(ground))
