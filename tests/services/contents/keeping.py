"""A place where contents are kept: a real database, a folder of blobs, virtual time."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from atoll.adapters.blobs.folder import FolderBlobs
from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.contents.disk_images import FileImages
from atoll.adapters.contents.sealer import ZstdAesSealer
from atoll.adapters.storage.store import Settings, SqlStore, open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.contents.content import Content, ContentId
from atoll.domain.ids import OrgId
from atoll.services.contents.contents import Contents
from atoll.services.contents.scan import WINDOW_BYTES
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.testing.fakes.clock import VirtualClock
from tests.peers.databases.chosen import database_url

ORG, OTHER = OrgId("org_a"), OrgId("org_b")


class WatchedBlobs(FolderBlobs):
    """A folder of blobs that calls `before` and `after` around every operation on one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.folder = folder
        self.before: Callable[[str, str], Awaitable[None]] = _pass
        self.after: Callable[[str, str], Awaitable[None]] = _pass

    async def put(self, name: str, data: bytes) -> bool:
        await self.before("put", name)
        stored = await super().put(name, data)
        await self.after("put", name)
        return stored

    async def get(self, name: str) -> bytes:
        await self.before("get", name)
        return await super().get(name)

    async def delete(self, name: str) -> None:
        await self.before("delete", name)
        await super().delete(name)

    def files(self) -> list[Path]:
        """Return the files of all blobs, in the order of their names."""
        return sorted(path for path in self.folder.rglob("*") if path.is_file())


@dataclass
class Keeping:
    """Contents, and what they stand on."""

    contents: Contents
    blobs: WatchedBlobs
    store: SqlStore
    clock: VirtualClock
    vault: InMemoryVault
    folder: Path

    async def keep(
        self, data: bytes, base: ContentId | None = None, org_id: OrgId = ORG
    ) -> Content:
        """Keep an image of these bytes."""
        return await self.contents.keep(org_id, self.write(data), base)

    async def fetch(self, content_id: ContentId, org_id: OrgId = ORG) -> bytes:
        """Return the bytes of a content, read into a file of its own."""
        into = self.folder / f"fetched-{content_id}"
        into.unlink(missing_ok=True)
        await self.contents.fetch(org_id, content_id, into)
        return into.read_bytes()

    def write(self, data: bytes) -> Path:
        """Write an image of these bytes."""
        image = self.folder / "image"
        image.write_bytes(data)
        return image

    async def names(self, content_id: ContentId) -> set[str]:
        """Return the names of the blobs that a content refers to."""
        async with self.store.read() as rows:
            return set(await rows.content_blobs.names(content_id))


async def _pass(_verb: str, _name: str) -> None:
    """Do nothing."""


@asynccontextmanager
async def keeping(folder: Path) -> AsyncIterator[Keeping]:
    """Open a place below `folder`."""
    clock, vault = VirtualClock(), InMemoryVault()
    blobs = WatchedBlobs(folder / "blobs")
    async with open_store(Settings(database_url(folder))) as store:
        ground = Ground(store, InProcessBus(), clock, Identifiers())
        contents = Contents(ground, vault, blobs=blobs, sealer=ZstdAesSealer(), images=FileImages())
        yield Keeping(contents, blobs, store, clock, vault, folder)


def image(windows: int, seed: int = 1, rest: int = 0) -> bytes:
    """Return random bytes of so many windows, and `rest` more."""
    return Random(seed).randbytes(windows * WINDOW_BYTES + rest)


def changed(data: bytes, *offsets: int) -> bytes:
    """Return the bytes with another one at each of these places."""
    copy = bytearray(data)
    for offset in offsets:
        copy[offset] ^= 0xFF
    return bytes(copy)
