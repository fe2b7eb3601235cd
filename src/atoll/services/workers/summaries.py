"""Summaries of workers: the read model `worker_summaries`, its one writer, and its readers.

The leader derives it from the streams within about a second, and announces what it derived. A
rebuild derives it anew beside the writer.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.workers.summary import Progress, WorkerSummary, summary
from atoll.ports import Transaction
from atoll.ports.database import Headway
from atoll.ports.telemetry.metrics import Metric
from atoll.services.ground import Ground
from atoll.services.repetition import derive_from_news
from atoll.services.workers.workers import check_right
from atoll.wire.words.workers import SUMMARIES

STREAM: Final = f"model:{SUMMARIES}"
"""The name by which changes are announced."""

PAGE: Final = 200
MAX_SUMMARIES: Final = 1000
"""The workers of a follower."""

LOOK_SECONDS: Final = 4.0
"""Between two looks of a follower at a writer that announces nothing."""

PAUSE: Final = timedelta(seconds=1)
"""The time between two looks at the streams."""

DERIVED: Final = Metric(
    "atoll_worker_events_derived_total", "Events of workers that their summaries have."
)


@dataclass(frozen=True, slots=True)
class SummariesUpdate:
    """The summaries that changed, or all of the caller's with `whole`."""

    summaries: tuple[WorkerSummary, ...]
    whole: bool = False


class WorkerSummaries:
    """The writer of the read model, and what callers may see of it."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def run(self) -> None:
        """Derive what is behind, until cancelled."""
        await derive_from_news(
            self._ground,
            self.look,
            every=PAUSE,
            failed="worker_summaries_not_derived",
            broke="worker_summaries_broke",
        )

    async def look(self) -> int:
        """Derive what is behind; returns how many workers that were."""
        derived: list[Progress] = []
        while page := await self._page():
            derived += page
            if len(page) < PAGE:
                break
        if derived:
            self._ground.bus.announce((STREAM,))
            new = sum(max(0, progress.newest - progress.derived) for progress in derived)
            self._ground.telemetry.metrics.count(DERIVED, by=new)
        return len(derived)

    async def _page(self) -> Sequence[Progress]:
        async with self._ground.store.read() as rows:
            if not await rows.worker_summaries.behind(1):
                return ()
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            return await _derive(rows, PAGE)

    async def list(self, caller: Principal, page: PageQuery) -> RowPage[WorkerSummary]:
        """Return a page of the summaries of the caller's workers, newest worker first."""
        check_right(caller, Capability.AGENT_READ)
        async with self._ground.store.read() as rows:
            records = await rows.workers.page(caller.org_id, caller.id, page)
            known = await rows.worker_summaries.of([record.key for record in records.rows])
        shown = [
            summary(record.created.worker_id, known.get(record.key, Progress(record.key)))
            for record in records.rows
        ]
        return RowPage(shown, records.following)

    async def follow(self, caller: Principal) -> AsyncIterator[SummariesUpdate]:
        """Yield all summaries of the caller's newest workers, then those that change. Never
        returns."""
        shown: dict[str, WorkerSummary] | None = None
        with self._ground.bus.listen(STREAM) as listener:
            while True:
                page = await self.list(caller, PageQuery(MAX_SUMMARIES))
                now = {row.worker_id: row for row in page.rows}
                before = shown or {}
                changed = tuple(row for name, row in now.items() if before.get(name) != row)
                if shown is None or changed:
                    yield SummariesUpdate(changed, whole=shown is None)
                shown = {str(name): row for name, row in now.items()}
                # Looked at from time to time all the same: a writer that stands still is told.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await listener.wait()


class SummariesRebuild:
    """The read model derived anew from the streams, beside its writer: an
    `adapters.storage.archive.database.Derivation`."""

    async def read(self, rows: Transaction, headway: Headway | None = None) -> None:
        """Read nothing: a summary is the number of its stream's newest event."""
        del rows, headway

    async def switch(self, rows: Transaction) -> int:
        """Store all of it, in a transaction that writes. Returns how many events it has."""
        await rows.worker_summaries.clear()
        while len(await _derive(rows, PAGE)) == PAGE:
            pass
        return (await rows.worker_summaries.total()).derived


async def _derive(rows: Transaction, limit: int) -> Sequence[Progress]:
    behind = await rows.worker_summaries.behind(limit)
    for progress in behind:
        await rows.worker_summaries.put(progress)
    return behind
