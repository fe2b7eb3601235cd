"""Changes of what sessions watch: how soon they are told of, and what their streams cost.

Servers run in this process on the event loop of a control plane, their readers in another one.
"""

import asyncio
import gc
import itertools
import resource
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import uvloop

from atoll.domain.event import EventDraft, Json
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.surfaces.mcp.offering import Offering
from atoll.surfaces.mcp.toolbox import toolbox
from atoll.testing.samples import draft
from bench.control.fanout import Viewers, viewers_of
from bench.figures import Series, table, verdict
from tests.surfaces.http.world import World, world

SUBSCRIBERS = 1_000
STALLED = 10
ROUNDS = 6
EVENTS = 40
WARM = 5
FLOOD = 8_000
"""The changes that a stalled reader does not take: 5 MB, more than its socket holds."""

SETTLING = 5
"""Floods that nobody watches before memory is read: meanwhile the process takes what it keeps for
any number of readers, such as the pages that its connections to the database cache."""

AT_ONCE = 50
LONG = "x" * 400
_numbers = itertools.count(1)


def watchers() -> None:
    """From a commit to its notification, and memory for each of 1,000 streams."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_latency())
        runner.run(_memory())


async def _latency() -> None:
    """In turns: a reader of the browser's stream, and one of a session's."""
    page, session = Series("the browser's stream"), Series("the stream of a session")
    async with world() as made:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(ROUNDS):
                async with viewers_of(made.url, made.token, count=1) as one:
                    await _tell(made, one, page)
                # A new one each time: a session is told of what it missed.
                more = (str(await _sessions(made, Path(folder) / "one", ["hr/*"])),)
                watching = viewers_of(made.url, made.token, count=1, path="/mcp", more=more)
                async with watching as one:
                    await _tell(made, one, session)
    table("a commit → its reader has it", page, session)
    verdict("times the browser's stream, p50", session.median / page.median, 1.5)


async def _tell(made: World, viewers: Viewers, series: Series) -> None:
    for turn in range(EVENTS + WARM):
        began = await _commit(made, [_change("hr", f"a/{next(_numbers)}")])
        _, came = await viewers.all_have(1)
        if turn >= WARM:
            series.samples.append((came - began) * 1000)


async def _memory() -> None:
    """Memory of this process for the streams: first at rest, then with ten that read nothing."""
    alone, stalled = Series("a stream at rest", "KiB"), Series("one that reads nothing", "KiB")
    nobody = Series("the same flood, unwatched, by as many", "KiB")
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(world())
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        reading = await _sessions(made, Path(folder) / "all", ["hr/*"] * SUBSCRIBERS)
        lines = reading.read_text().split()
        deaf = await _sessions(made, Path(folder) / "deaf", ["flux/*"] * STALLED)
        reading.write_text("\n".join([*lines[STALLED:], *deaf.read_text().split()]))
        await _commit(made, [_change("hr", "warm")])
        before = _memory_kib()
        viewers = await stack.enter_async_context(
            viewers_of(
                made.url,
                made.token,
                count=SUBSCRIBERS,
                path="/mcp",
                more=(str(reading), str(STALLED)),
            )
        )
        for _ in range(3):
            await _commit(made, [_change("hr", f"a/{next(_numbers)}")])
            await viewers.all_have(1)
        alone.samples.append((_memory_kib() - before) / SUBSCRIBERS)
        for _ in range(SETTLING):
            await _flood(made, viewers, "gitea.pr")
        first = _memory_kib()
        await _flood(made, viewers, "gitea.pr")
        rest = _memory_kib()
        # Memory that the process took for itself meanwhile: the next figure has as much of it.
        nobody.samples.append((rest - first) / STALLED)
        await _flood(made, viewers, "flux")
        stalled.samples.append((_memory_kib() - rest) / STALLED)
    table(f"memory for {SUBSCRIBERS:,} streams of sessions", alone, nobody, stalled)
    verdict("KiB for each stream", alone.median, 64)
    verdict("KiB more for one that reads nothing", stalled.median, 64)


async def _flood(made: World, viewers: Viewers, family: str) -> None:
    """Append many changes, and wait until all who read have passed them."""
    for _ in range(FLOOD // AT_ONCE):
        changes = [_change(family, f"{LONG}/{next(_numbers)}") for _ in range(AT_ONCE)]
        await _commit(made, changes)
    await _commit(made, [_change("hr", f"a/{next(_numbers)}")])
    await viewers.all_have(1)


async def _sessions(made: World, path: Path, watched: Sequence[str]) -> Path:
    """Write a file of sessions that watch these."""
    tools, ids = made.services.tools, []
    mark = await Offering(made.services, toolbox()).mark(LOCAL_PERSON, home=False)
    for one in watched:
        text = await tools.sessions.begin(LOCAL_PERSON, mark)
        claims = await tools.sessions.find(LOCAL_PERSON, text)
        assert claims is not None
        await tools.watches.begin(LOCAL_PERSON, claims, f"atoll://{one}")
        ids.append(text)
    path.write_text("\n".join(ids))
    return path


async def _commit(made: World, changes: list[EventDraft]) -> float:
    """Append events, announce them, and return when they were committed."""
    async with made.ground.store.begin() as rows:
        await rows.events.append(changes)
    committed = time.perf_counter()
    made.ground.bus.announce(("hooks",))
    return committed


def _change(family: str, path: str) -> EventDraft:
    payload: dict[str, Json] = {
        "path": f"{family.replace('.', '/')}/{path}",
        "state": "done",
        "title": "t",
    }
    plain = draft(next(_numbers), owner=LOCAL_PERSON.id)
    verb = "updated" if family == "gitea.pr" else "reconciled"
    return replace(plain, event_type=f"{family}.{verb}", payload=payload)


def _memory_kib() -> float:
    gc.collect()
    text = Path("/proc/self/smaps_rollup").read_text()
    return float(next(line for line in text.splitlines() if line.startswith("Pss:")).split()[1])
