"""Checks of the rows of the read model `worker_summaries`."""

from atoll.domain.ids import WorkerKey
from atoll.domain.workers.record import WorkerEventDraft
from atoll.domain.workers.summary import Progress
from atoll.ports import Store
from atoll.testing.samples import NOW
from tests.adapters.storage.rows.workers.workers import worker

A, B = WorkerKey("wk_a"), WorkerKey("wk_b")


async def append(store: Store, key: WorkerKey, count: int) -> None:
    """Append so many events to a worker's stream."""
    draft = WorkerEventDraft(
        "worker.heartbeat", NOW, {"worker_id": "w", "heartbeat_state": "fresh"}
    )
    async with store.begin() as rows:
        await rows.worker_events.append(key, [draft] * count)


async def check_summary_is_behind_until_its_progress_is_put(store: Store) -> None:
    """Each worker by itself; one without an event is not behind."""
    async with store.begin() as rows:
        assert await rows.worker_summaries.total() == Progress(WorkerKey(""))
        for key in (B, A):
            await rows.workers.put(worker(key, name=key))
        assert await rows.worker_summaries.behind(9) == []
        assert await rows.worker_summaries.of([A, B]) == {A: Progress(A), B: Progress(B)}
        assert await rows.worker_summaries.of([]) == {}
    await append(store, A, 3)
    await append(store, B, 2)
    async with store.begin() as rows:
        behind = [Progress(A, 0, 3), Progress(B, 0, 2)]
        assert await rows.worker_summaries.behind(9) == behind
        assert await rows.worker_summaries.behind(1) == behind[:1]
        await rows.worker_summaries.put(behind[0])
    await append(store, A, 1)
    async with store.read() as rows:
        assert await rows.worker_summaries.of([A, WorkerKey("wk_none")]) == {A: Progress(A, 3, 4)}
        assert await rows.worker_summaries.total() == Progress(WorkerKey(""), 3, 6)


async def check_cleared_summaries_are_derived_anew(store: Store) -> None:
    """Also a summary that is ahead of its stream is behind."""
    async with store.begin() as rows:
        await rows.workers.put(worker(A))
        await rows.worker_summaries.put(Progress(A, 0, 9))
    await append(store, A, 2)
    async with store.begin() as rows:
        assert await rows.worker_summaries.behind(9) == [Progress(A, 9, 2)]
        await rows.worker_summaries.put(Progress(A, 9, 2))
        assert await rows.worker_summaries.behind(9) == []
        await rows.worker_summaries.clear()
        assert await rows.worker_summaries.behind(9) == [Progress(A, 0, 2)]
        # What is derived from the log stands beside them.
        assert await rows.projections.stored("agents") == {}
