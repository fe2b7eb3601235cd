"""The tables of pools and of the environments in them, and their rows."""

from sqlalchemy import BigInteger, Column, Index, Table, Text, select

from atoll.adapters.storage.columns import metadata, to_us
from atoll.adapters.storage.records import RecordTable, SqlRecords
from atoll.domain.ids import OrgId, SandboxId
from atoll.domain.pools.pool import Pool, PooledSandbox, PooledState
from atoll.ports.store.hosts.pools import PooledRows, PoolRows

pools = Table(
    "pools",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("profile", Text, primary_key=True),
    Column("body", Text, nullable=False),
)

pooled = Table(
    "pooled_sandboxes",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("wall", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("built_us", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Index("pooled_sandboxes_by_pool", "org_id", "profile", "state", "built_us"),
)


class SqlPoolRows(SqlRecords[Pool, OrgId, str], PoolRows):
    """The `ports.store.hosts.pools.PoolRows` on one connection."""

    records = RecordTable(
        pools,
        Pool,
        lambda pool: {"org_id": pool.org_id, "profile": pool.profile},
        order=(pools.c.org_id, pools.c.profile),
    )

    async def everything(self) -> list[Pool]:
        """See the port."""
        return await self._all()

    async def of_organization(self, org_id: OrgId) -> list[Pool]:
        """See the port."""
        return await self._all(pools.c.org_id == org_id)


class SqlPooledRows(SqlRecords[PooledSandbox, SandboxId], PooledRows):
    """The `ports.store.hosts.pools.PooledRows` on one connection."""

    records = RecordTable(
        pooled,
        PooledSandbox,
        lambda each: {
            "id": each.id,
            "org_id": each.org_id,
            "profile": each.profile.id,
            "host": each.host,
            "wall": each.wall,
            "state": each.state.value,
            "built_us": to_us(each.built_at),
        },
        order=(pooled.c.built_us, pooled.c.id),
    )

    async def everything(self) -> list[PooledSandbox]:
        """See the port."""
        return await self._all()

    async def of_pool(self, org_id: OrgId, profile: str) -> list[PooledSandbox]:
        """See the port."""
        return await self._all(pooled.c.org_id == org_id, pooled.c.profile == profile)

    async def states(self, org_id: OrgId, profile: str) -> list[PooledState]:
        """See the port."""
        table = pooled.c
        query = select(table.state).where(table.org_id == org_id, table.profile == profile)
        return [PooledState(state) for state in (await self._connection.execute(query)).scalars()]

    async def oldest_ready(
        self, org_id: OrgId, profile: str, host: str, wall: str
    ) -> PooledSandbox | None:
        """See the port."""
        table = pooled.c
        query = (
            select(table.body)
            .where(
                *(table.org_id == org_id, table.profile == profile, table.host == host),
                *(table.wall == wall, table.state == PooledState.READY.value),
            )
            .order_by(table.built_us, table.id)
            .limit(1)
        )
        body = (await self._connection.execute(query)).scalar_one_or_none()
        return None if body is None else self.records.decode(body)
