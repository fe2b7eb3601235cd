"""Tables and rows of dashboards' documents: snapshots, updates, authors and history."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    LargeBinary,
    PrimaryKeyConstraint,
    ScalarSelect,
    Table,
    Text,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.adapters.storage.dashboards.tables import dashboards
from atoll.domain.dashboards.history import HistoryEntry, StoredUpdate
from atoll.domain.ids import DashboardId, PrincipalId
from atoll.ports.store.dashboards.dashboards import (
    DashboardHistoryRows,
    DocumentAuthorRows,
    DocumentRows,
    DocumentSnapshot,
    KeptHistory,
)


def _columns(*more: Column[Any], owner: str = "owner") -> list[Column[Any]]:
    return [
        Column("dashboard_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column(owner, Text, nullable=False),
        *more,
    ]


snapshots = Table(
    "dashboard_snapshots",
    metadata,
    *_columns(
        Column("seq", BigInteger, nullable=False),
        Column("types", LargeBinary, nullable=False),
        Column("data", LargeBinary, nullable=False),
    ),
    PrimaryKeyConstraint("dashboard_id"),
)

updates = Table(
    "dashboard_updates",
    metadata,
    *_columns(
        Column("seq", BigInteger, nullable=False),
        Column("at_us", BigInteger, nullable=False),
        Column("parts", LargeBinary, nullable=False),
    ),
    PrimaryKeyConstraint("dashboard_id", "seq"),
)
"""`owner` is who made the update."""

authors = Table(
    "dashboard_authors",
    metadata,
    *_columns(Column("client", BigInteger, nullable=False)),
    PrimaryKeyConstraint("dashboard_id", "client"),
)
"""`owner` is the person whose client it is."""

history = Table(
    "dashboard_history",
    metadata,
    *_columns(
        Column("seq", BigInteger, nullable=False),
        Column("body", Text, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("updates", LargeBinary, nullable=False),
        Column("whole", LargeBinary),
    ),
    PrimaryKeyConstraint("dashboard_id", "seq"),
)
"""`owner` is who made the changes."""

_parts = msgspec.msgpack.Decoder(tuple[bytes, ...])
_entries = msgspec.json.Decoder(HistoryEntry)


def _org_of(dashboard_id: DashboardId) -> ScalarSelect[str]:
    return select(dashboards.c.org_id).where(dashboards.c.id == dashboard_id).scalar_subquery()


class SqlDocumentRows(DocumentRows):
    """The `ports.store.dashboards.dashboards.DocumentRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def snapshot(self, dashboard_id: DashboardId) -> DocumentSnapshot | None:
        """See the port."""
        table = snapshots.c
        cursor = await self._connection.execute(
            select(table.seq, table.data, table.types).where(table.dashboard_id == dashboard_id)
        )
        row = cursor.first()
        return None if row is None else DocumentSnapshot(row[0], bytes(row[1]), bytes(row[2]))

    async def updates(
        self, dashboard_id: DashboardId, after: int, limit: int
    ) -> list[StoredUpdate]:
        """See the port."""
        table = updates.c
        cursor = await self._connection.execute(
            select(table.seq, table.at_us, table.owner, table.parts)
            .where(table.dashboard_id == dashboard_id, table.seq > after)
            .order_by(table.seq)
            .limit(limit)
        )
        return [
            StoredUpdate(seq, from_us(at), PrincipalId(owner), _parts.decode(parts))
            for seq, at, owner, parts in cursor.all()
        ]

    async def append(
        self, dashboard_id: DashboardId, at: datetime, actor: PrincipalId, parts: Sequence[bytes]
    ) -> int:
        """See the port."""
        seq = await self.head(dashboard_id) + 1
        await self._connection.execute(
            insert(updates).values(
                dashboard_id=dashboard_id,
                org_id=_org_of(dashboard_id),
                owner=actor,
                seq=seq,
                at_us=to_us(at),
                parts=msgspec.msgpack.encode(tuple(parts)),
            )
        )
        return seq

    async def head(self, dashboard_id: DashboardId) -> int:
        """See the port."""
        last = select(func.max(updates.c.seq)).where(updates.c.dashboard_id == dashboard_id)
        snapshot = select(snapshots.c.seq).where(snapshots.c.dashboard_id == dashboard_id)
        cursor = await self._connection.execute(
            select(
                func.coalesce(last.scalar_subquery(), 0),
                func.coalesce(snapshot.scalar_subquery(), 0),
            )
        )
        last_seq, kept_seq = cursor.one()
        return max(int(last_seq), int(kept_seq))

    async def compact(
        self, dashboard_id: DashboardId, snapshot: DocumentSnapshot, *, before: int
    ) -> bool:
        """See the port."""
        mine = snapshots.c.dashboard_id == dashboard_id
        known = await self._connection.execute(select(snapshots.c.seq).where(mine))
        if (known.scalar_one_or_none() or 0) != before:
            return False
        body = {"seq": snapshot.seq, "types": snapshot.types, "data": snapshot.data}
        changed = await self._connection.execute(update(snapshots).where(mine).values(body))
        if not changed.rowcount:
            new = {
                "dashboard_id": dashboard_id,
                "org_id": _org_of(dashboard_id),
                "owner": select(dashboards.c.owner)
                .where(dashboards.c.id == dashboard_id)
                .scalar_subquery(),
            }
            await self._connection.execute(insert(snapshots).values(body | new))
        table = updates.c
        await self._connection.execute(
            delete(updates).where(table.dashboard_id == dashboard_id, table.seq <= snapshot.seq)
        )
        return True

    async def grown(self, updates_: int, before: datetime, limit: int) -> list[DashboardId]:
        """See the port."""
        table = updates.c
        cursor = await self._connection.execute(
            select(table.dashboard_id)
            .group_by(table.dashboard_id)
            .having(or_(func.count() >= updates_, func.min(table.at_us) < to_us(before)))
            .order_by(table.dashboard_id)
            .limit(limit)
        )
        return [DashboardId(each) for each in cursor.scalars()]


class SqlDocumentAuthorRows(DocumentAuthorRows):
    """The `ports.store.dashboards.dashboards.DocumentAuthorRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def of(self, dashboard_id: DashboardId) -> Mapping[int, PrincipalId]:
        """See the port."""
        table = authors.c
        cursor = await self._connection.execute(
            select(table.client, table.owner).where(table.dashboard_id == dashboard_id)
        )
        return {client: PrincipalId(owner) for client, owner in cursor.all()}

    async def claim(
        self, dashboard_id: DashboardId, person: PrincipalId, clients: Collection[int]
    ) -> bool:
        """See the port."""
        table = authors.c
        cursor = await self._connection.execute(
            select(table.client, table.owner).where(
                table.dashboard_id == dashboard_id, table.client.in_(list(clients))
            )
        )
        taken = {row.client: row.owner for row in cursor.all()}
        if any(owner != person for owner in taken.values()):
            return False
        for client in clients:
            if client not in taken:
                await self._connection.execute(
                    insert(authors).values(
                        dashboard_id=dashboard_id,
                        org_id=_org_of(dashboard_id),
                        owner=person,
                        client=client,
                    )
                )
        return True


class SqlDashboardHistoryRows(DashboardHistoryRows):
    """The `ports.store.dashboards.dashboards.DashboardHistoryRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, entries: Sequence[KeptHistory]) -> None:
        """See the port."""
        for change in entries:
            entry = change.entry
            await self._connection.execute(
                insert(history).values(
                    dashboard_id=entry.dashboard_id,
                    org_id=_org_of(entry.dashboard_id),
                    owner=entry.actor,
                    seq=entry.seq,
                    body=msgspec.json.encode(entry).decode(),
                    bytes=len(change.updates) + len(change.whole or b""),
                    updates=change.updates,
                    whole=change.whole,
                )
            )

    async def page(
        self, dashboard_id: DashboardId, before: int | None, limit: int
    ) -> list[HistoryEntry]:
        """See the port."""
        table = history.c
        rows = select(table.body).where(table.dashboard_id == dashboard_id)
        if before is not None:
            rows = rows.where(table.seq < before)
        cursor = await self._connection.execute(rows.order_by(table.seq.desc()).limit(limit))
        return [_entries.decode(body) for body in cursor.scalars()]

    async def way_to(self, dashboard_id: DashboardId, seq: int) -> list[KeptHistory]:
        """See the port."""
        table = history.c
        mine = table.dashboard_id == dashboard_id
        there = await self._connection.execute(select(table.seq).where(mine, table.seq == seq))
        if there.first() is None:
            return []
        whole = await self._connection.execute(
            select(func.max(table.seq)).where(mine, table.seq <= seq, table.whole.is_not(None))
        )
        begin = whole.scalar_one_or_none() or 0
        cursor = await self._connection.execute(
            select(table.body, table.updates, table.whole)
            .where(mine, table.seq >= begin, table.seq <= seq)
            .order_by(table.seq)
        )
        return [
            KeptHistory(
                _entries.decode(body), bytes(changes), None if full is None else bytes(full)
            )
            for body, changes, full in cursor.all()
        ]

    async def since_whole(self, dashboard_id: DashboardId) -> int | None:
        """See the port."""
        table = history.c
        mine = table.dashboard_id == dashboard_id
        whole = await self._connection.execute(
            select(func.max(table.seq)).where(mine, table.whole.is_not(None))
        )
        last = whole.scalar_one_or_none()
        if last is None:
            return None
        cursor = await self._connection.execute(select(func.count()).where(mine, table.seq > last))
        return int(cursor.scalar_one())

    async def cut(self, dashboard_id: DashboardId, entries: int, max_bytes: int) -> None:
        """See the port."""
        table = history.c
        mine = table.dashboard_id == dashboard_id
        cursor = await self._connection.execute(
            select(table.seq, table.bytes, table.whole.is_not(None))
            .where(mine)
            .order_by(table.seq.desc())
        )
        number, size, first = 0, 0, None
        for seq, count, whole in cursor.all():
            number, size = number + 1, size + count
            within = number <= entries and size <= max_bytes
            if whole and (within or first is None):
                first = seq
            if not within and first is not None:
                await self._connection.execute(delete(history).where(mine, table.seq < first))
                return
