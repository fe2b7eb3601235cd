"""A terminal behind a link that is cut again and again, at random bytes, with three viewers.

`ATOLL_LINK_CUTS` asks for more cuts, `ATOLL_LINK_AWAY` for more seconds without the link;
`ATOLL_LINK_SEED` repeats those that the summary names.
"""

import asyncio
import hashlib
import os
import random
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.linked import LinkRig, link_rig
from tests.runtime.stage import Watcher, runtime

CUTS = int(os.environ.get("ATOLL_LINK_CUTS", "40"))
SEED = int(os.environ.get("ATOLL_LINK_SEED") or random.randrange(2**32))
MOST_BYTES = 40_000
AWAY_SECONDS = float(os.environ.get("ATOLL_LINK_AWAY", "1"))
GRACE_SECONDS = 120
LINE = b"the quick brown fox jumps over the lazy dog\r\n"
READY = b"ready\r\n"
DONE = b"that was all\r\n"


async def flood(relay_cuts: LinkRig) -> None:
    """Cut the link at random bytes of what passes, and leave it cut for a while once."""
    chance, relay = random.Random(SEED), relay_cuts.relay
    while relay.cuts < CUTS:
        if relay.cut_after is None:
            relay.cut_after = chance.randrange(1, MOST_BYTES)
        await asyncio.sleep(0.001)
        if relay.cuts == CUTS // 2:
            relay.hold()
            await asyncio.sleep(AWAY_SECONDS)  # it is away for so long: that is tested
            relay.release()
            while relay.cuts <= CUTS // 2:
                relay.cut_after = relay.cut_after or chance.randrange(1, MOST_BYTES)
                await asyncio.sleep(0.001)
    relay.cut_after = None


async def watched(viewer: Watcher) -> str:
    """Return the hash of all that a viewer saw, up to the last line."""
    await viewer.until_bytes(DONE)
    return hashlib.sha256(viewer.seen).hexdigest()


@pytest.mark.timeout(180 + CUTS)
async def test_viewers_of_a_flood_see_every_byte_over_a_link_that_is_cut_at_random(
    summary: Callable[[str], None],
) -> None:
    summary(f"link: ATOLL_LINK_CUTS={CUTS} ATOLL_LINK_SEED={SEED}")
    ends: list[LinkRig] = []

    @asynccontextmanager
    async def wall(work: Path) -> AsyncIterator[InitSpawner]:
        with tempfile.TemporaryDirectory(prefix="at", dir="/tmp") as folder:
            async with link_rig(work, Path(folder), grace=GRACE_SECONDS) as both:
                ends.append(both)
                yield both.spawner

    count = CUTS * MOST_BYTES // len(LINE)
    script = f"echo ready; read go; yes {LINE[:-2].decode()!r} | head -n {count}; echo that was all"
    async with runtime(wall=wall) as rt, AsyncExitStack() as stack:
        terminal = await rt.open("sh", "-c", f"stty -echo; {script}")
        viewers = [
            await stack.enter_async_context(rt.attach(terminal, client=name)) for name in "abc"
        ]
        await viewers[0].until_bytes(READY)
        async with asyncio.TaskGroup() as tasks:
            seen = [tasks.create_task(watched(one)) for one in viewers]
            await viewers[0].type(b"\n")
            await flood(ends[0])
        whole = hashlib.sha256(READY + LINE * count + DONE).hexdigest()
        assert {one.result() for one in seen} == {whole}
        assert ends[0].relay.cuts >= CUTS
