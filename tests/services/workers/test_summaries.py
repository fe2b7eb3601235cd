"""The read model of workers: one writer behind the streams, readers, and a rebuild."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.storage.archive.database import SqlDatabase
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Conflict, Forbidden
from atoll.domain.ids import PrincipalId, WorkerKey
from atoll.domain.paging import PageQuery
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.workers.record import WorkerEventDraft
from atoll.domain.workers.summary import Progress
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.telemetry import OFF, Telemetry
from atoll.services.workers.summaries import (
    DERIVED,
    PAUSE,
    SummariesRebuild,
    SummariesUpdate,
    WorkerSummaries,
)
from atoll.testing import FakeLeadership
from atoll.testing.fakes.clock import VirtualClock
from atoll.testing.fakes.telemetry import FakeMetrics
from atoll.testing.samples import NOW
from atoll.wire.words.workers import SUMMARIES, SummaryStatus
from tests.adapters.storage.rows.workers.workers import worker
from tests.peers.databases.chosen import database_url

OTHER = replace(LOCAL_PERSON, id=PrincipalId("other"))
A, B = WorkerKey("wk_a"), WorkerKey("wk_b")
SAID = WorkerEventDraft("worker.heartbeat", NOW, {"worker_id": "w", "heartbeat_state": "fresh"})


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[Ground]:
    """A store with a worker of the person's and one of another's."""
    async with open_store(Settings(database_url(folder))) as store:
        telemetry = Telemetry(FakeMetrics(), OFF.tracer, metered=True)
        ground = Ground(store, InProcessBus(), VirtualClock(), Identifiers(), telemetry)
        async with store.begin() as rows:
            await rows.workers.put(worker(A, owner=LOCAL_PERSON.id, name="a"))
            await rows.workers.put(worker(B, owner=OTHER.id, name="b"))
        yield ground


@pytest.fixture
async def ground(tmp_path: Path) -> AsyncIterator[Ground]:
    async with opened(tmp_path) as made:
        yield made


async def append(ground: Ground, key: WorkerKey, count: int) -> None:
    async with ground.store.begin() as rows:
        await rows.worker_events.append(key, [SAID] * count)
    ground.bus.announce((f"worker:{key}",))


async def shown(ground: Ground) -> list[tuple[str, str, int, int]]:
    page = await WorkerSummaries(ground).list(LOCAL_PERSON, PageQuery(9))
    return [(one.worker_id, one.status, one.lag_events, one.last_seq) for one in page.rows]


async def test_summary_lags_until_the_writer_has_derived_it(ground: Ground) -> None:
    await append(ground, A, 3)
    assert await shown(ground) == [("a", "lagging", 3, 0)]
    assert await WorkerSummaries(ground).look() == 1
    assert await shown(ground) == [("a", "in_sync", 0, 3)]
    await append(ground, A, 2)
    assert await shown(ground) == [("a", "lagging", 2, 3)]
    assert await WorkerSummaries(ground).look() == 1
    assert await WorkerSummaries(ground).look() == 0
    metrics = ground.telemetry.metrics
    assert isinstance(metrics, FakeMetrics)
    assert metrics.counted[DERIVED, ()] == 5


async def test_only_the_process_that_leads_writes(ground: Ground) -> None:
    follower = replace(ground, leadership=FakeLeadership())
    await append(ground, A, 1)
    with pytest.raises(Conflict):
        await WorkerSummaries(follower).look()
    assert await shown(ground) == [("a", "lagging", 1, 0)]


async def test_follower_gets_all_and_then_what_changes(ground: Ground) -> None:
    summaries, clock = WorkerSummaries(ground), ground.clock
    assert isinstance(clock, VirtualClock)
    await append(ground, A, 1)
    async with asyncio.timeout(20), asyncio.TaskGroup() as tasks:
        running = tasks.create_task(summaries.run())
        updates = summaries.follow(LOCAL_PERSON)
        update = await anext(updates)
        assert update.whole
        while update.summaries[0].status is not SummaryStatus.IN_SYNC:
            update = await anext(updates)
        await append(ground, B, 9)
        await append(ground, A, 1)
        waiting = tasks.create_task(_until(updates, 2))
        while not waiting.done():
            clock.turn(PAUSE.total_seconds())
            await asyncio.sleep(0)
        found = waiting.result()
        assert [one.worker_id for one in found.summaries] == ["a"]
        running.cancel()


async def _until(updates: AsyncIterator[SummariesUpdate], last: int) -> SummariesUpdate:
    """Return the first update that has this event."""
    async for one in updates:
        assert not one.whole
        if one.summaries[0].last_seq == last:
            return one
    raise AssertionError


async def test_follower_without_a_worker_is_told_so(ground: Ground) -> None:
    stranger = replace(LOCAL_PERSON, id=PrincipalId("nobody"))
    updates = WorkerSummaries(ground).follow(stranger)
    async with asyncio.timeout(20):
        assert await anext(updates) == SummariesUpdate((), whole=True)


async def test_caller_without_the_right_sees_none(ground: Ground) -> None:
    nobody = replace(LOCAL_PERSON, capabilities=frozenset())
    with pytest.raises(Forbidden):
        await WorkerSummaries(ground).list(nobody, PageQuery(9))
    with pytest.raises(Forbidden):
        await anext(WorkerSummaries(ground).follow(nobody))


async def test_rebuild_gives_what_the_writer_gave(tmp_path: Path) -> None:
    async with opened(tmp_path) as ground:
        await append(ground, A, 3)
        await append(ground, B, 2)
        await WorkerSummaries(ground).look()
        async with ground.store.begin() as rows:
            written = await rows.worker_summaries.of([A, B])
            await rows.worker_summaries.put(Progress(A, 0, 99))
        url = Settings(database_url(tmp_path)).url
        database = SqlDatabase(url, {SUMMARIES: SummariesRebuild})
        (behind,) = await asyncio.to_thread(lambda: database.status().projections)
        assert (behind.name, behind.position, behind.lag) == (SUMMARIES, 101, 0)
        (done,) = await asyncio.to_thread(database.rebuild, [SUMMARIES])
        assert (done.name, done.position, done.lag) == (SUMMARIES, 5, 0)
        async with ground.store.read() as rows:
            assert await rows.worker_summaries.of([A, B]) == written
