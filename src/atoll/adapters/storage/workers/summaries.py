"""Rows of the read model `worker_summaries`, which stand among the states of projections."""

from collections.abc import Mapping, Sequence

from sqlalchemy import (
    Row,
    ScalarSelect,
    Select,
    and_,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.events import events
from atoll.adapters.storage.projections import states
from atoll.adapters.storage.workers.workers import workers
from atoll.domain.ids import WorkerKey
from atoll.domain.workers.record import WORKER_STREAMS, worker_stream
from atoll.domain.workers.summary import Progress
from atoll.ports.store.workers.summaries import WorkerSummaryRows
from atoll.wire.words.workers import SUMMARIES

_BODY = "{}"

_derived = func.coalesce(states.c.position, 0)


def _newest_seq() -> ScalarSelect[int]:
    """Return the newest number of a worker's stream: one look at the end of its index."""
    newest = select(func.coalesce(func.max(events.c.seq), 0))
    stream = literal(WORKER_STREAMS).concat(workers.c.key)
    return newest.where(events.c.stream == stream).scalar_subquery()


def _progress() -> Select[str, int, int]:
    stream = literal(WORKER_STREAMS).concat(workers.c.key)
    own = and_(states.c.name == SUMMARIES, states.c.stream == stream)
    columns = (workers.c.key, _derived.label("derived"), _newest_seq().label("newest"))
    return select(*columns).select_from(workers.outerjoin(states, own))


class SqlWorkerSummaryRows(WorkerSummaryRows):
    """The `ports.store.workers.summaries.WorkerSummaryRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Progress]:
        """See the port."""
        if not keys:
            return {}
        cursor = await self._connection.execute(_progress().where(workers.c.key.in_(keys)))
        return {progress.key: progress for progress in map(_read, cursor)}

    async def behind(self, limit: int) -> list[Progress]:
        """See the port."""
        cursor = await self._connection.execute(
            _progress().where(_derived != _newest_seq()).order_by(workers.c.key).limit(limit)
        )
        return list(map(_read, cursor))

    async def put(self, progress: Progress) -> None:
        """See the port."""
        stream, position = worker_stream(progress.key), progress.newest
        own = (states.c.name == SUMMARIES, states.c.stream == stream)
        changed = await self._connection.execute(
            update(states).where(*own).values(position=position)
        )
        if changed.rowcount == 0:
            row = {"name": SUMMARIES, "stream": stream, "position": position, "body": _BODY}
            await self._connection.execute(insert(states), row)

    async def total(self) -> Progress:
        """See the port."""
        each = _progress().subquery()
        sums = [func.coalesce(func.sum(each.c[name]), 0) for name in ("derived", "newest")]
        derived, newest = (await self._connection.execute(select(*sums))).one()
        return Progress(WorkerKey(""), int(derived), int(newest))

    async def clear(self) -> None:
        """See the port."""
        await self._connection.execute(delete(states).where(states.c.name == SUMMARIES))


def _read(row: Row[str, int, int]) -> Progress:
    return Progress(WorkerKey(row[0]), row[1], row[2])
