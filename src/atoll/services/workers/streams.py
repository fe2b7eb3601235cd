"""Streams of workers: pages of events, and followers, who receive deltas between the events, too.

Whatever a caller may not see answers as what is missing, at each look.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Invalid, StaleCursor
from atoll.domain.people.principal import Principal
from atoll.domain.workers.live import DeltaOrder, WorkerDelta
from atoll.domain.workers.record import WorkerEvent, WorkerRecord, worker_stream
from atoll.ports import Transaction
from atoll.ports.bus import Listener
from atoll.services.ground import Ground
from atoll.services.workers.live import HeardDeltas, LiveDeltas
from atoll.services.workers.workers import known_worker
from atoll.wire.words.workers import MAX_TAIL_MS

MAX_PAGE: Final = 200
JUDGED_SECONDS: Final = 4.0
"""Between two looks at whether a follower may still follow."""


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Events of a stream, in order, and the number of the newest one. `collected` is the last entry
    of the host's spool that is among the events of the stream."""

    events: Sequence[WorkerEvent]
    latest_seq: int
    collected: int = 0

    @property
    def whole(self) -> bool:
        """True where no event follows those of the page."""
        return not self.events or self.events[-1].seq >= self.latest_seq


async def read_page(rows: Transaction, record: WorkerRecord, after: int, limit: int) -> StreamPage:
    """Return events after a number. Raises `StaleCursor` when some of them are no longer kept, and
    for a number that the stream has not reached."""
    events = await rows.worker_events.page(record.key, after, limit)
    # Numbers have no gap, and the newest event is always kept: what is missing is no longer kept.
    first = events[0].seq if events else after + 1
    if after + 1 < first:
        raise StaleCursor(
            f"Events up to {first - 1} are no longer kept: resume after that.",
            resume_after=first - 1,
        )
    latest = events[-1].seq if events else after
    if not events and after:
        newest = await rows.worker_events.last(record.key)
        if after > newest:
            raise StaleCursor(
                f"The stream ends at {newest}, as it was set back: resume after that.",
                resume_after=newest,
            )
    if len(events) == limit:
        latest = await rows.worker_events.last(record.key)
    return StreamPage(events, latest, record.collected)


class WorkerStreams:
    """Followers of workers' streams."""

    def __init__(self, ground: Ground, live: LiveDeltas) -> None:
        self._ground = ground
        self._live = live

    async def page(
        self, caller: Principal, worker_id: str, *, after: int, limit: int = MAX_PAGE
    ) -> StreamPage:
        """Return events after a number. Raises `NotFound`, `Forbidden`, and `StaleCursor` when some
        of them are no longer kept."""
        async with self._ground.store.read() as rows:
            record = await known_worker(rows, caller, worker_id)
            return await read_page(rows, record, after, limit)

    async def follow(
        self, caller: Principal, worker_id: str, *, after: int, tail_ms: int | None = None
    ) -> AsyncGenerator[Sequence[WorkerEvent | WorkerDelta], None]:
        """Yield every event after a number, then each as it comes, and the deltas between them.
        With `tail_ms` it ends that long after it began, once all events that were there are
        yielded. The caller is judged anew at least every few seconds. Raises as `page`, and
        `Invalid`."""
        ends = _end_of(tail_ms)
        async with self._ground.store.read() as rows:
            key = (await known_worker(rows, caller, worker_id)).key
        order = DeltaOrder()
        with ExitStack() as stack:
            listener = stack.enter_context(self._ground.bus.listen(worker_stream(key)))
            heard = stack.enter_context(self._live.follow(key))
            while True:
                page = await self.page(caller, worker_id, after=after)
                for event in page.events:
                    yield (event,)
                    after = event.seq
                order.note_events(page.events, page.collected if page.whole else None)
                if not page.whole:
                    continue
                look = min(ends, _loop_time() + JUDGED_SECONDS)
                woken = False
                while not woken:
                    for batch in heard.take(order.place):
                        yield order.admit(batch)
                    woken = await _woken(listener, heard, look - _loop_time())
                if _loop_time() >= ends:
                    return


def _end_of(tail_ms: int | None) -> float:
    """Return when a tail ends. Raises `Invalid`."""
    if tail_ms is None:
        return math.inf
    if not 0 <= tail_ms <= MAX_TAIL_MS:
        raise Invalid(f"tail_ms lies between 0 and {MAX_TAIL_MS}.", field="tail_ms")
    return _loop_time() + tail_ms / 1000


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


async def _woken(listener: Listener, heard: HeardDeltas, seconds: float) -> bool:
    """Wait for events or deltas. Returns whether the events are to be looked at: after an
    announcement, or after that time."""
    if seconds <= 0:
        return True
    async with asyncio.TaskGroup() as tasks:
        announced = tasks.create_task(listener.wait())
        news = tasks.create_task(heard.news.wait())
        done, rest = await asyncio.wait(
            {announced, news}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for task in rest:
            task.cancel()
    heard.news.clear()
    return news not in done or announced in done
