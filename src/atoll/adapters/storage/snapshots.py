"""Tables and rows of snapshots, and of orders for their disks."""

from datetime import datetime

from sqlalchemy import BigInteger, Column, Index, Table, Text, and_, func, or_, select

from atoll.adapters.storage.columns import metadata, read_page, to_us
from atoll.adapters.storage.records import RecordTable, SqlOwnedRecords, SqlRecords
from atoll.adapters.storage.sandboxes import sandboxes
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, SnapshotId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.snapshots.disk_order import DiskOrder, DiskOrderId
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.ports.store.snapshots import DiskOrderRows, SnapshotRows
from atoll.wire.words.sandboxes import Scope, SnapshotState, State

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("sandbox_id", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("scope", Text, nullable=False),
    # "fork" and "prebuild" for those that no list shows, "automatic" for those that a profile has
    # taken.
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("expires_us", BigInteger),
    Column("size", BigInteger, nullable=False, server_default="0"),
    Column("body", Text, nullable=False),
    Index("snapshots_by_age", "org_id", "created_us", "id"),
    Index("snapshots_by_sandbox", "sandbox_id"),
    Index("snapshots_by_state", "state"),
    Index("snapshots_by_end", "expires_us"),
)

disk_orders = Table(
    "disk_orders",
    metadata,
    Column("id", Text, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)

_HIDDEN = ("fork", "prebuild")
_UNSETTLED = (SnapshotState.MAKING.value, SnapshotState.REMOVING.value)


class SqlSnapshotRows(SqlOwnedRecords[Snapshot, SnapshotId], SnapshotRows):
    """The `ports.store.snapshots.SnapshotRows` on one connection."""

    records = RecordTable(
        snapshots,
        Snapshot,
        lambda snapshot: {
            "id": snapshot.id,
            "org_id": snapshot.org_id,
            "owner": snapshot.owner,
            "sandbox_id": snapshot.source.id,
            "name": snapshot.name,
            "scope": snapshot.source.scope.value,
            "kind": _kind(snapshot),
            "state": snapshot.state.value,
            "created_us": to_us(snapshot.created_at),
            "expires_us": None if snapshot.expires_at is None else to_us(snapshot.expires_at),
            "size": snapshot.size,
        },
        order=(snapshots.c.created_us, snapshots.c.id),
    )

    async def named(self, org_id: OrgId, owner: PrincipalId, name: str) -> Snapshot | None:
        """See the port."""
        table = snapshots.c
        rows = await self._all(
            *(table.org_id == org_id, table.owner == owner, table.name == name),
            table.kind.not_in(_HIDDEN),
            order=(table.created_us.desc(), table.id.desc()),
        )
        return rows[0] if rows else None

    async def count(self, org_id: OrgId, owner: PrincipalId) -> int:
        """See the port."""
        table = snapshots.c
        query = select(func.count()).where(
            table.org_id == org_id, table.owner == owner, table.kind == "own"
        )
        return (await self._connection.execute(query)).scalar_one()

    async def disk_use(self, org_id: OrgId) -> int:
        """See the port."""
        table = snapshots.c
        query = select(func.coalesce(func.sum(table.size), 0)).where(table.org_id == org_id)
        # The sum of PostgreSQL is a Decimal.
        return int((await self._connection.execute(query)).scalar_one())

    async def largest(self, org_id: OrgId, owner: PrincipalId) -> Snapshot | None:
        """See the port."""
        table = snapshots.c
        rows = await self._all(
            *(table.org_id == org_id, table.owner == owner, table.size > 0),
            table.kind.not_in(_HIDDEN),
            order=(table.size.desc(), table.id),
        )
        return rows[0] if rows else None

    async def page(
        self,
        org_id: OrgId,
        owner: PrincipalId,
        page: PageQuery,
        *,
        sandbox_id: SandboxId | None = None,
    ) -> RowPage[Snapshot]:
        """See the port."""
        table = snapshots.c
        rows = select(table.body, table.created_us, table.id).where(
            table.org_id == org_id,
            table.kind.not_in(_HIDDEN),
            or_(table.owner == owner, table.scope == Scope.SHARED.value),
        )
        if sandbox_id is not None:
            rows = rows.where(table.sandbox_id == sandbox_id)
        return await read_page(self._connection, rows, page, decode=self.records.decode)

    async def automatic(self, sandbox_id: SandboxId) -> list[Snapshot]:
        """See the port."""
        table = snapshots.c
        return await self._all(table.sandbox_id == sandbox_id, table.kind == "automatic")

    async def orphans(self) -> list[Snapshot]:
        """See the port."""
        table = snapshots.c
        there = select(sandboxes.c.id).where(
            sandboxes.c.id == table.sandbox_id, sandboxes.c.state != State.DESTROYED.value
        )
        return await self._all(
            *(table.kind == "automatic", table.expires_us.is_(None)),
            *(table.state == SnapshotState.READY.value, ~there.exists()),
        )

    async def prebuilds(
        self, org_id: OrgId | None = None, owner: PrincipalId | None = None
    ) -> list[Snapshot]:
        """See the port."""
        table = snapshots.c
        whose = [] if org_id is None else [table.org_id == org_id, table.owner == owner]
        return await self._all(table.kind == "prebuild", *whose)

    async def unsettled(self, before: datetime) -> list[Snapshot]:
        """See the port."""
        table, moment = snapshots.c, to_us(before)
        stuck = and_(table.state.in_(_UNSETTLED), table.created_us <= moment)
        over = or_(table.expires_us <= moment, table.kind == "fork")
        return await self._all(or_(stuck, over), order=(table.id,))


class SqlDiskOrderRows(SqlRecords[DiskOrder, DiskOrderId], DiskOrderRows):
    """The `ports.store.snapshots.DiskOrderRows` on one connection."""

    records = RecordTable(
        disk_orders,
        DiskOrder,
        lambda order: {"id": order.id, "at_us": to_us(order.at)},
        order=(disk_orders.c.at_us, disk_orders.c.id),
    )

    async def everything(self) -> list[DiskOrder]:
        """See the port."""
        return await self._all()


def _kind(snapshot: Snapshot) -> str:
    if snapshot.forks is not None:
        return "fork"
    if snapshot.prebuild is not None:
        return "prebuild"
    return "automatic" if snapshot.automatic else "own"
