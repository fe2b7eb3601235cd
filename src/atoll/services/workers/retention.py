"""Retention of workers' streams: what agents said is kept for a time of its own, or until its owner
deletes it.

Events go oldest first, a few in each transaction, and with them the answers that the ledger holds.
The newest event of a stream always stays, so that its numbers never begin again.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.ids import WorkerKey
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.workers.ledger import RequestRefusal
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.repetition import pause, sweep_hourly
from atoll.services.workers.workers import check_right, known_worker
from atoll.wire.words.workers import ErrorCode

BATCH: Final = 200
PAUSE: Final = timedelta(milliseconds=50)

DELETED: Final = RequestRefusal(
    ErrorCode.CONFLICT,
    "Its answer was deleted with the events of the worker: take a new request_id.",
)
"""The receipt of a request whose answer is no longer kept."""

_RECEIPTS: Final = frozenset({"worker.response", "worker.error"})
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Erased:
    """A deletion: how many events were removed, and the number after which they begin now."""

    removed: int
    resume_after: int


class WorkerRetention:
    """The removal of events, answers and artifacts; `age` is how long they are kept, None for
    good."""

    def __init__(self, ground: Ground, age: timedelta | None) -> None:
        self._ground = ground
        self.age = age

    async def run(self) -> None:
        """Remove what is due at intervals; never returns."""
        await sweep_hourly(
            self._ground.clock,
            self._turn,
            failed="worker_events_not_removed",
            broke="worker_retention_broke",
        )

    async def _turn(self) -> None:
        if removed := await self.sweep():
            _log.info("worker_events_removed", events=removed)

    async def sweep(self) -> int:
        """Remove all that is due now; returns the number of events. Raises `StoreUnavailable`."""
        if self.age is None:
            return 0
        before, removed = self._ground.clock.now() - self.age, 0
        while True:
            async with self._ground.store.read() as rows:
                due = await rows.worker_events.aged(before, BATCH)
            for key, last in due:
                removed += await self._remove(key, last)
                await pause(self._ground.clock, PAUSE)
            if len(due) < BATCH:
                break
        async with self._ground.store.begin() as rows:
            await rows.worker_artifacts.remove(before)
        return removed

    async def erase(self, caller: Principal, worker_id: str) -> Erased:
        """Delete what the agent of a worker said: every event but the newest, the answers to its
        requests, and its artifacts. Raises `NotFound`, `Forbidden`."""
        check_right(caller, Capability.AGENT_USE)
        async with self._ground.store.begin() as rows:
            key = (await known_worker(rows, caller, worker_id)).key
            last = await rows.worker_events.last(key)
            await rows.worker_artifacts.remove(self._soon, key)
        removed = await self._remove(key, last)
        async with self._ground.store.read() as rows:
            return Erased(removed, await rows.worker_events.first(key) - 1)

    @property
    def _soon(self) -> datetime:
        """A moment that everything stored so far is older than."""
        return self._ground.clock.now() + timedelta(seconds=1)

    async def _remove(self, key: WorkerKey, last: int) -> int:
        """Remove the events of a stream up to a number, in batches."""
        removed = 0
        while True:
            async with self._ground.store.begin() as rows:
                count = await _remove_batch(rows, key, last)
            removed += count
            if count < BATCH:
                return removed


async def _remove_batch(rows: Transaction, key: WorkerKey, last: int) -> int:
    first = await rows.worker_events.first(key)
    last = min(last, first + BATCH - 1, await rows.worker_events.last(key) - 1)
    for event in await rows.worker_events.page(key, first - 1, BATCH):
        if event.seq <= last and event.event_type in _RECEIPTS:
            await _forget(rows, key, str(event.payload["request_id"]))
    return await rows.worker_events.remove(key, last + 1) if last >= first else 0


async def _forget(rows: Transaction, key: WorkerKey, request_id: str) -> None:
    known = await rows.worker_requests.get(key, request_id)
    if known is not None:
        await rows.worker_requests.put(replace(known, entry=replace(known.entry, receipt=DELETED)))
