"""Every worker of an organization, for its administrators.

They see that a worker is there, whose it is, where and why, and how it ended. They do not see what
its agent says: its stream, conversations, questions and artifacts stay its owner's.
"""

from dataclasses import dataclass

from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import Principal
from atoll.domain.worker.record import WorkerRecord
from atoll.domain.worker.snapshot import Observed, WorkerSnapshot, snapshot
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.overview.oversight import administered
from atoll.services.workers.transitions import place_of


@dataclass(frozen=True, slots=True)
class OverseenWorker:
    """A worker as administrators see it. Of what is observed only its place is known."""

    record: WorkerRecord
    shown: WorkerSnapshot


class WorkerOversight:
    """Use cases of administrators on every worker of their organization. Raises `Forbidden` for
    others, and `NotFound` for an organization of others."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def page(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[OverseenWorker]:
        """Return one page of an organization's workers, newest first."""
        async with self._ground.store.read() as rows:
            found = await administered(rows, caller, ref)
            workers = await rows.workers.page(found.id, None, page)
            shown = [await self._overseen(rows, one) for one in workers.rows]
        return RowPage(shown, workers.following)

    async def _overseen(self, rows: Transaction, record: WorkerRecord) -> OverseenWorker:
        sandbox, route = await place_of(rows, record)
        observed = Observed(sandbox=sandbox, route=route)
        return OverseenWorker(record, snapshot(record, observed, now=self._ground.clock.now()))
