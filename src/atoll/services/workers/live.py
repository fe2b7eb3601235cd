"""Deltas of workers for this replica's followers: one reader for each worker that is followed.

What waits for followers is bounded: one that stalls misses the oldest, and the others do not wait
for it. The completed items, which are events, replace what it missed. An agent is never held up.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import WorkerKey
from atoll.domain.workers.lifecycle import is_settled
from atoll.domain.workers.live import DeltaBatch, read_batch
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.outside.worker_host import LiveHost
from atoll.services.ground import Ground
from atoll.services.task_runner import TaskRunner
from atoll.wire.words.workers import WorkerStatus

LIVE_CHARACTERS: Final = 1024 * 1024
"""The characters of params that wait for the followers of one worker."""
PATIENCE_SECONDS: Final = 0.2
"""The time without a step of anybody after which followers that are behind are not waited for."""
AGAIN: Final = timedelta(seconds=1)
"""Before another connection to a host that does not answer."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Heard:
    """The newest deltas of one worker, for all who follow it. Each batch stands with the characters
    that were heard up to its end."""

    batches: deque[tuple[DeltaBatch, int]] = field(default_factory=deque)
    first: int = 0
    said: int = 0
    followers: set["HeardDeltas"] = field(default_factory=set)
    alone: asyncio.Event = field(default_factory=asyncio.Event)
    taken: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def end(self) -> int:
        """The place after the newest batch."""
        return self.first + len(self.batches)

    def add(self, batch: DeltaBatch) -> None:
        self.said += batch.size
        self.batches.append((batch, self.said))
        while self.said - self._begin > LIVE_CHARACTERS:
            self.batches.popleft()
            self.first += 1
        for follower in self.followers:
            follower.news.set()

    @property
    def _begin(self) -> int:
        """The characters that were heard before the oldest batch."""
        if not self.batches:
            return self.said
        oldest, end = self.batches[0]
        return end - oldest.size

    async def room(self) -> None:
        """Wait for those who are behind, but not for long for one that takes nothing."""
        while slow := [follower for follower in self.followers if follower.is_waited_for]:
            self.taken.clear()
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self.taken.wait()
            except TimeoutError:
                for follower in slow:
                    follower.stalls = True


class HeardDeltas:
    """A follower's place among the deltas of a worker. `news` is set when others came; `stalls` is
    True for one that nobody waits for, until it takes some again."""

    def __init__(self, heard: _Heard) -> None:
        self._heard = heard
        self._place, self._seen = heard.end, heard.said
        self.news = asyncio.Event()
        self.stalls = False

    @property
    def is_waited_for(self) -> bool:
        """True while it is so far behind that it would miss some soon."""
        return not self.stalls and self._heard.said - self._seen > LIVE_CHARACTERS // 2

    def take(self, up_to: int) -> list[DeltaBatch]:
        """Return the next batches after entries up to this one. One that fell behind misses the
        oldest."""
        heard = self._heard
        self._place = max(self._place, heard.first)
        batches = []
        while self._place < heard.end:
            batch, seen = heard.batches[self._place - heard.first]
            if batch.after > up_to:
                break
            batches.append(batch)
            self._place, self._seen = self._place + 1, seen
        if batches:
            self.stalls = False
            heard.taken.set()
        return batches


class LiveDeltas:
    """The readers of deltas, by worker."""

    def __init__(self, ground: Ground, host: LiveHost, *, tasks: TaskRunner) -> None:
        self._ground = ground
        self._host = host
        self._tasks = tasks
        self._heard: dict[WorkerKey, _Heard] = {}

    @contextmanager
    def follow(self, key: WorkerKey) -> Iterator[HeardDeltas]:
        """Follow a worker's deltas from now on."""
        heard = self._heard.get(key)
        if heard is None:
            heard = self._heard[key] = _Heard()
            begun = heard
            self._tasks.start(lambda: self._read(key, begun))
        own = HeardDeltas(heard)
        heard.followers.add(own)
        try:
            yield own
        finally:
            heard.followers.remove(own)
            heard.taken.set()
            if not heard.followers:
                del self._heard[key]
                heard.alone.set()

    async def _read(self, key: WorkerKey, heard: _Heard) -> None:
        """Read a worker's deltas until nobody follows it."""
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._connect(key, heard))
                await heard.alone.wait()
                reading.cancel()
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("worker_deltas_broke", worker=key)

    async def _connect(self, key: WorkerKey, heard: _Heard) -> None:
        """Connect for as long as it takes: a worker's sandbox comes and goes."""
        clock = self._ground.clock
        while True:
            try:
                record = await self._find_running_worker(key)
                if record is not None:
                    async with self._host.live(record) as deltas:
                        async for batch in deltas:
                            heard.add(
                                read_batch(record.created.worker_id, batch.after, batch.lines)
                            )
                            await heard.room()
            except AtollError as err:
                _log.debug("worker_deltas_wait", worker=key, reason=err.message)
            await clock.sleep_until(clock.now() + AGAIN)

    async def _find_running_worker(self, key: WorkerKey) -> WorkerRecord | None:
        """Return a worker that has an agent now, None when it has none."""
        async with self._ground.store.read() as rows:
            record = await rows.workers.get(key)
        if record is None or is_settled(record.worker):
            return None
        return record if record.worker.status is WorkerStatus.RUNNING else None
