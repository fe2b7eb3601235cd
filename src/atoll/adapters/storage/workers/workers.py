"""Tables and rows of workers, of their requests, and of their streams."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    FromClause,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    Text,
    UniqueConstraint,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    literal_column,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, read_page, storable, to_us
from atoll.adapters.storage.engines.whole import WholeStatements
from atoll.adapters.storage.events import append_apart, events
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.adapters.storage.workers.receipts import ReceiptBody
from atoll.domain.event import Json
from atoll.domain.event_kind import check
from atoll.domain.event_kinds.workers import WORKERS
from atoll.domain.ids import OrgId, PrincipalId, WorkerKey
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.create import WorkerId
from atoll.domain.workers.ledger import (
    LedgerEntry,
)
from atoll.domain.workers.lifecycle import is_settled
from atoll.domain.workers.record import (
    WORKER_STREAMS,
    RequestRecord,
    WorkerEvent,
    WorkerEventDraft,
    WorkerRecord,
    worker_stream,
)
from atoll.ports.store.workers.workers import (
    WorkerArtifactRows,
    WorkerEventRows,
    WorkerRequestRows,
    WorkerRows,
)

workers = Table(
    "workers",
    metadata,
    Column("key", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("worker_id", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("settled", Integer, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "owner", "worker_id"),
    Index("workers_unsettled", "settled"),
)

worker_requests = Table(
    "worker_requests",
    metadata,
    Column("key", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("answered", Integer, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("key", "request_id"),
    Index("worker_requests_open", "key", "answered", "n"),
)
"""`n` counts the requests of a worker."""

worker_artifacts = Table(
    "worker_artifacts",
    metadata,
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("key", "name"),
    Index("worker_artifacts_by_age", "at_us"),
)

_KINDS = dict(WORKERS)
_OF_WORKER = {
    name: select(workers.c[name]).where(workers.c.key == bindparam("in_key")).scalar_subquery()
    for name in ("org_id", "owner")
}
_append = append_apart(**_OF_WORKER, actor_kind=SYSTEM.kind.value, actor_id=SYSTEM.id)
_sandboxes = msgspec.json.Decoder(Sandbox)
_payloads: msgspec.json.Decoder[dict[str, Json]] = msgspec.json.Decoder(dict[str, object])


class _Body(ReceiptBody, omit_defaults=True, kw_only=True):
    """A request as JSON."""

    request_id: str
    digest: str
    method: str = ""


_artifacts = msgspec.json.Decoder(WorkerArtifact)
_bodies = msgspec.json.Decoder(_Body)


class SqlWorkerRows(SqlRecords[WorkerRecord, WorkerKey], WorkerRows):
    """The `ports.store.workers.workers.WorkerRows` on one connection."""

    records = RecordTable(
        workers,
        WorkerRecord,
        lambda record: {
            "key": record.key,
            "org_id": record.org_id,
            "owner": record.owner,
            "worker_id": record.created.worker_id,
            "created_us": to_us(record.created_at),
            "settled": int(is_settled(record.worker)),
        },
        order=(workers.c.key,),
    )

    async def find(
        self, org_id: OrgId, owner: PrincipalId, worker_id: WorkerId
    ) -> WorkerRecord | None:
        """See the port."""
        table = workers.c
        return await self._one(
            table.org_id == org_id, table.owner == owner, table.worker_id == worker_id
        )

    async def page(
        self, org_id: OrgId, owner: PrincipalId | None, page: PageQuery
    ) -> RowPage[WorkerRecord]:
        """See the port."""
        table = workers.c
        rows = select(table.body, table.created_us, table.key).where(table.org_id == org_id)
        if owner is not None:
            rows = rows.where(table.owner == owner)
        return await read_page(self._connection, rows, page, decode=self.records.decode)

    async def unsettled(self) -> list[WorkerRecord]:
        """See the port."""
        return await self._all(workers.c.settled == 0)

    async def standing(
        self, org_id: OrgId, limit: int
    ) -> list[tuple[WorkerRecord, Sandbox | None]]:
        """See the port."""
        table = workers.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(table.org_id == org_id, table.settled == 0)
            .order_by(table.created_us.desc(), table.key.desc())
            .limit(limit)
        )
        records = [self.records.decode(body) for body in cursor.scalars()]
        ids = [record.sandbox_id for record in records if record.sandbox_id is not None]
        rows = await self._connection.execute(
            select(sandboxes.c.id, sandboxes.c.body).where(sandboxes.c.id.in_(ids))
        )
        there = {row.id: _sandboxes.decode(row.body) for row in rows}
        return [(record, there.get(record.sandbox_id)) for record in records]


class SqlWorkerRequestRows(WorkerRequestRows):
    """The `ports.store.workers.workers.WorkerRequestRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, record: RequestRecord) -> None:
        """See the port."""
        table = worker_requests.c
        this = (table.key == record.key, table.request_id == record.request_id)
        cursor = await self._connection.execute(select(table.n).where(*this))
        number = cursor.scalar()
        if number is None:
            newest = await self._connection.execute(
                select(func.coalesce(func.max(table.n), 0)).where(table.key == record.key)
            )
            number = newest.scalar_one() + 1
        await self._connection.execute(delete(worker_requests).where(*this))
        await self._connection.execute(
            insert(worker_requests),
            {
                "key": record.key,
                "request_id": record.request_id,
                "n": number,
                "answered": int(record.entry.receipt is not None),
                "body": storable(_encode_record(record).decode()),
            },
        )

    async def get(self, key: WorkerKey, request_id: str) -> RequestRecord | None:
        """See the port."""
        table = worker_requests.c
        cursor = await self._connection.execute(
            select(table.body).where(table.key == key, table.request_id == request_id)
        )
        body = cursor.scalar()
        return None if body is None else _read(key, body)

    async def open(self, key: WorkerKey) -> list[RequestRecord]:
        """See the port."""
        table = worker_requests.c
        cursor = await self._connection.execute(
            select(table.body).where(table.key == key, table.answered == 0).order_by(table.n)
        )
        return [_read(key, body) for body in cursor.scalars()]


class SqlWorkerEventRows(WorkerEventRows):
    """The `ports.store.workers.workers.WorkerEventRows` on one connection: streams apart in the
    table of the log."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def append(self, key: WorkerKey, drafts: Sequence[WorkerEventDraft]) -> list[WorkerEvent]:
        """See the port."""
        writing = cast(WholeStatements, self._connection)
        appended = []
        for draft in drafts:
            version = check(draft.event_type, draft.payload, _KINDS).version
            ((seq,),) = await writing.fetch(_append, _event_row(key, draft, version))
            appended.append(WorkerEvent(seq, draft.event_type, version, draft.at, draft.payload))
        return appended

    async def page(self, key: WorkerKey, after: int, limit: int) -> list[WorkerEvent]:
        """See the port."""
        table = events.c
        cursor = await self._connection.execute(
            select(events)
            .where(table.stream == worker_stream(key), table.seq > after)
            .order_by(table.seq)
            .limit(limit)
        )
        return list(map(_event, cursor))

    async def last(self, key: WorkerKey) -> int:
        """See the port."""
        return await self._end(func.max(events.c.seq), key) or 0

    async def first(self, key: WorkerKey) -> int:
        """See the port."""
        return await self._end(func.min(events.c.seq), key) or 1

    async def _end(self, number: ColumnElement[int], key: WorkerKey) -> int | None:
        cursor = await self._connection.execute(
            select(number).where(events.c.stream == worker_stream(key))
        )
        return cursor.scalar_one()

    async def remove(self, key: WorkerKey, before: int) -> int:
        """See the port."""
        table = events.c
        bound = min(before, await self.last(key))
        done = await self._connection.execute(
            delete(events).where(table.stream == worker_stream(key), table.seq < bound)
        )
        return done.rowcount

    async def aged(self, before: datetime, limit: int) -> list[tuple[WorkerKey, int]]:
        """See the port."""
        cursor = await self._connection.execute(aged_of(before, limit))
        return [(WorkerKey(stream.removeprefix(WORKER_STREAMS)), seq) for stream, seq in cursor]

    async def lost(self, org_id: OrgId, since: datetime, limit: int) -> list[WorkerEvent]:
        """See the port."""
        loss, before, start = (events.alias(name) for name in ("loss", "before", "start"))
        begun = (
            select(func.max(before.c.seq))
            .where(
                before.c.stream == loss.c.stream,
                before.c.seq < loss.c.seq,
                _type_condition(before, "worker.started"),
            )
            .scalar_subquery()
        )
        cursor = await self._connection.execute(
            select(start)
            .select_from(loss)
            .join(start, and_(start.c.stream == loss.c.stream, start.c.seq == begun))
            .where(
                _type_condition(loss, "worker.lost"),
                loss.c.at_us > to_us(since),
                loss.c.org_id == org_id,
            )
            .order_by(loss.c.at_us.desc(), loss.c.stream, loss.c.seq)
            .limit(limit)
        )
        return list(map(_event, cursor))


class SqlWorkerArtifactRows(WorkerArtifactRows):
    """The `ports.store.workers.workers.WorkerArtifactRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, key: WorkerKey, artifact: WorkerArtifact, at: datetime) -> None:
        """See the port."""
        table = worker_artifacts.c
        await self._connection.execute(
            delete(worker_artifacts).where(table.key == key, table.name == artifact.name)
        )
        await self._connection.execute(
            insert(worker_artifacts),
            {
                "key": key,
                "name": artifact.name,
                "at_us": to_us(at),
                "body": msgspec.json.encode(artifact).decode(),
            },
        )

    async def list(self, key: WorkerKey) -> list[WorkerArtifact]:
        """See the port."""
        table = worker_artifacts.c
        cursor = await self._connection.execute(
            select(table.body).where(table.key == key).order_by(table.at_us, table.name)
        )
        return [_artifacts.decode(body) for body in cursor.scalars()]

    async def remove(self, before: datetime, key: WorkerKey | None = None) -> int:
        """See the port."""
        table = worker_artifacts.c
        these = [table.at_us < to_us(before), *([] if key is None else [table.key == key])]
        done = await self._connection.execute(delete(worker_artifacts).where(*these))
        return done.rowcount


def aged_of(before: datetime, limit: int) -> Select[str, int]:
    """Return the statement of `SqlWorkerEventRows.aged`."""
    table, newer = events.c, events.alias()
    # Not the column itself: SQLite would read every event, in the order of the groups.
    stream = table.stream.concat(literal_column("''"))
    return (
        select(stream, func.max(table.seq))
        .where(
            table.position.is_(None),
            table.at_us < to_us(before),
            exists().where(newer.c.stream == table.stream, newer.c.seq > table.seq),
        )
        .group_by(stream)
        .order_by(stream)
        .limit(limit)
    )


def _event_row(
    key: WorkerKey, draft: WorkerEventDraft, version: int
) -> dict[str, str | int | None]:
    stream = worker_stream(key)
    return {
        "in_stream": stream,
        "in_key": key,
        "stream": stream,
        "event_type": draft.event_type,
        "event_version": version,
        "at_us": to_us(draft.at),
        "payload": msgspec.json.encode(draft.payload).decode(),
    }


def _type_condition(events: FromClause, event_type: str) -> ColumnElement[bool]:
    """Return the condition for the events of a type."""
    return events.c.event_type == literal(event_type, literal_execute=True)


def _event(row: Row[Any]) -> WorkerEvent:
    return WorkerEvent(
        row.seq,
        row.event_type,
        row.event_version,
        from_us(row.at_us),
        _payloads.decode(row.payload),
    )


def _encode_record(record: RequestRecord) -> bytes:
    entry = record.entry
    body = _Body(request_id=record.request_id, digest=entry.digest, method=entry.method)
    body.hold(entry.receipt)
    return msgspec.json.encode(body)


def _read(key: WorkerKey, text: str) -> RequestRecord:
    body = _bodies.decode(text)
    entry = LedgerEntry(body.digest, body.receipt, body.method)
    return RequestRecord(key, body.request_id, entry)
