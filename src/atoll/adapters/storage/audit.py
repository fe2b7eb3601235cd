"""Tables and rows of the audit log: entries in chains, and the checkpoints they begin at."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.engines.whole import WholeStatements
from atoll.adapters.storage.engines.writer import DriverStatement
from atoll.domain.audit import BEGINNING, AuditEntry, Checkpoint, entry_of, is_audited
from atoll.domain.event import Event
from atoll.domain.ids import OrgId
from atoll.domain.people.principal import CallOrigin
from atoll.ports.store.audit import AuditRows, ChainHead

audit_entries = Table(
    "audit_entries",
    metadata,
    Column("org_id", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("org_id", "n"),
    Index("audit_entries_by_age", "at_us"),
)
"""`body` is the entry as it is exported. `hash` is beside it for whoever continues the chain."""

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("n", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

_Connection = AsyncConnection | WholeStatements

_newest = (
    select(audit_entries.c.n, audit_entries.c.hash)
    .where(audit_entries.c.org_id == bindparam("in_org"))
    .order_by(audit_entries.c.n.desc())
    .limit(1)
)
_newest_by_driver = DriverStatement(_newest)
_append = DriverStatement(insert(audit_entries))

_checkpoints = msgspec.json.Decoder(Checkpoint)


async def append_entries(
    writing: WholeStatements, appended: Sequence[tuple[Event, CallOrigin | None]]
) -> None:
    """Append the audited ones of these events, each to its organization's chain.

    Writing transactions are serialised, so nobody else continues a chain meanwhile.
    """
    heads: dict[OrgId, ChainHead] = {}
    rows = []
    for event, origin in appended:
        if not is_audited(event.event_type):
            continue
        head = heads.get(event.org_id) or await _head_to_continue(writing, event.org_id)
        entry = entry_of(event, origin, n=head.n + 1, previous=head.hash)
        heads[event.org_id] = ChainHead(entry.n, entry.hash)
        rows.append(
            {
                "org_id": entry.org_id,
                "n": entry.n,
                "at_us": to_us(event.at),
                "hash": entry.hash,
                "body": msgspec.json.encode(entry).decode(),
            }
        )
    if len(rows) == 1:
        await writing.fetch(_append, rows[0])
    elif rows:
        await writing.execute(insert(audit_entries), rows)


class SqlAuditRows(AuditRows):
    """The `ports.store.audit.AuditRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def page(self, org_id: OrgId, *, after: int, limit: int) -> list[AuditEntry]:
        """See the port."""
        table = audit_entries.c
        cursor = await self._connection.execute(
            select(table.body)
            .where(table.org_id == org_id, table.n > after)
            .order_by(table.n)
            .limit(limit)
        )
        return [_entry(body) for body in cursor.scalars()]

    async def latest(
        self, org_id: OrgId, *, limit: int, before: int | None = None
    ) -> list[AuditEntry]:
        """See the port."""
        table = audit_entries.c
        wanted = [table.org_id == org_id, *(() if before is None else (table.n < before,))]
        cursor = await self._connection.execute(
            select(table.body).where(*wanted).order_by(table.n.desc()).limit(limit)
        )
        return [_entry(body) for body in cursor.scalars()][::-1]

    async def head(self, org_id: OrgId) -> ChainHead:
        """See the port."""
        newest = (await self._connection.execute(_newest, {"in_org": org_id})).one_or_none()
        if newest is None:
            return await _first_head(self._connection, org_id)
        return ChainHead(newest.n, newest.hash)

    async def checkpoint(self, org_id: OrgId) -> Checkpoint | None:
        """See the port."""
        return await _checkpoint(self._connection, org_id)

    async def due(self, before: datetime) -> list[OrgId]:
        """See the port."""
        table = audit_entries.c
        cursor = await self._connection.execute(
            select(table.org_id).where(table.at_us < to_us(before)).distinct()
        )
        return sorted(OrgId(org_id) for org_id in cursor.scalars())

    async def newest_before(self, org_id: OrgId, before: datetime) -> ChainHead | None:
        """See the port."""
        table = audit_entries.c
        cursor = await self._connection.execute(
            select(table.n, table.hash)
            .where(table.org_id == org_id, table.at_us < to_us(before))
            .order_by(table.n.desc())
            .limit(1)
        )
        row = cursor.one_or_none()
        return None if row is None else ChainHead(row.n, row.hash)

    async def drop(self, checkpoint: Checkpoint) -> int:
        """See the port."""
        table, points = audit_entries.c, audit_checkpoints
        gone = (table.org_id == checkpoint.org_id, table.n <= checkpoint.n)
        count = await self._connection.execute(
            select(func.count()).select_from(audit_entries).where(*gone)
        )
        await self._connection.execute(delete(audit_entries).where(*gone))
        await self._connection.execute(delete(points).where(points.c.org_id == checkpoint.org_id))
        await self._connection.execute(
            insert(points),
            {
                "org_id": checkpoint.org_id,
                "n": checkpoint.n,
                "body": msgspec.json.encode(checkpoint).decode(),
            },
        )
        return count.scalar_one()


def _entry(body: str) -> AuditEntry:
    return AuditEntry(**msgspec.json.decode(body))


async def _head_to_continue(writing: WholeStatements, org_id: OrgId) -> ChainHead:
    newest = await writing.fetch(_newest_by_driver, {"in_org": org_id})
    return ChainHead(*newest[0]) if newest else await _first_head(writing, org_id)


async def _first_head(connection: _Connection, org_id: OrgId) -> ChainHead:
    """Return the head of a chain without entries."""
    point = await _checkpoint(connection, org_id)
    return ChainHead(0, BEGINNING) if point is None else ChainHead(point.n, point.hash)


async def _checkpoint(connection: _Connection, org_id: OrgId) -> Checkpoint | None:
    cursor = await connection.execute(
        select(audit_checkpoints.c.body).where(audit_checkpoints.c.org_id == org_id)
    )
    body = cursor.scalar()
    return None if body is None else _checkpoints.decode(body)
