"""Contents: a disk of 1 GiB kept in a folder, again after 1 % of it changed, and read again."""

import asyncio
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from atoll.adapters.blobs.folder import FolderBlobs
from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.clocks import SystemClock
from atoll.adapters.contents.disk_images import FileImages
from atoll.adapters.contents.sealer import ZstdAesSealer
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.store import Settings, open_store
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.ids import OrgId
from atoll.services.contents.contents import Contents
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from bench.figures import Series, ratio, table, verdict
from bench.peers import milliseconds

MIB_BYTES = 2**20
SIZE = 1024 * MIB_BYTES
HOLES = 1024 * MIB_BYTES
RUN_BYTES = 256 * 1024
CHANGED = SIZE // 100
ORG = OrgId("org_bench")


def contents() -> None:
    """Keep a disk, keep it again after a change, fetch it, beside a sparse copy of it."""
    with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
        asyncio.run(_measure(Path(folder)))


async def _measure(folder: Path) -> None:
    first, second = Series("1 GiB is kept"), Series("1 % changed, it is kept again")
    fetched, copied = Series("it is fetched"), Series("a sparse copy of it")
    brought = Series("… processor", unit="s")
    image = folder / "image"
    await asyncio.to_thread(_fill, image)
    async with open_store(Settings(sqlite_url(folder / "base"))) as store:
        ground = Ground(store, InProcessBus(), SystemClock(), Identifiers())
        own = Contents(
            ground,
            InMemoryVault(),
            blobs=FolderBlobs(folder / "blobs"),
            sealer=ZstdAesSealer(),
            images=FileImages(),
        )
        started = time.perf_counter()
        worked = time.process_time()
        before = await own.keep(ORG, image)
        first.samples.append(milliseconds(started))
        kept = time.process_time() - worked
        await asyncio.to_thread(_change, image)
        started = time.perf_counter()
        worked = time.process_time()
        after = await own.keep(ORG, image, before.id)
        second.samples.append(milliseconds(started))
        again = time.process_time() - worked
        for number in range(3):
            copied.samples.append(await asyncio.to_thread(_copy, image, folder / "copy"))
            started, worked = time.perf_counter(), time.process_time()
            await own.fetch(ORG, after.id, folder / f"back{number}")
            fetched.samples.append(milliseconds(started))
            brought.samples.append(time.process_time() - worked)
        assert subprocess.run(["cmp", image, folder / "back0"], check=False).returncode == 0
    table("contents in a folder", first, second, copied, fetched, brought)
    ratio("of the first one's processor time", again / kept)
    verdict("% stored beside the first one", 100 * after.stored / before.stored, 1.5)
    verdict("of the first one's time", second.median / first.median, 1 / 4)
    verdict("times a sparse copy, a fetch", fetched.median / copied.median, 1.5)


def _fill(image: Path) -> None:
    """Write random bytes with as many holes between them, durably."""
    with image.open("wb") as file:
        for at in range(0, SIZE, 16 * MIB_BYTES):
            file.seek(2 * at)
            file.write(os.urandom(16 * MIB_BYTES))
        file.truncate(SIZE + HOLES)
        os.fsync(file.fileno())


def _change(image: Path) -> None:
    """Write other bytes to some places."""
    places = random.Random(1).sample(range(SIZE // RUN_BYTES), CHANGED // RUN_BYTES)
    with image.open("r+b") as file:
        for place in places:
            part, within = divmod(place * RUN_BYTES, 16 * MIB_BYTES)
            file.seek(2 * part * 16 * MIB_BYTES + within)
            file.write(os.urandom(RUN_BYTES))


def _copy(image: Path, target: Path) -> float:
    """Copy durably, as a fetch is; return the milliseconds."""
    started = time.perf_counter()
    subprocess.run(["cp", "--sparse=always", "--reflink=never", image, target], check=True)
    subprocess.run(["sync", target], check=True)
    took = milliseconds(started)
    target.unlink()
    return took
