"""Table and rows of the background that each person works on."""

from sqlalchemy import Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import OrgId, PrincipalId
from atoll.ports.store.people.shades import ShadeRows
from atoll.wire.words.terminals import Shade

shades = Table(
    "shades",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("shade", Text, nullable=False),
)


class SqlShadeRows(ShadeRows):
    """The `ports.store.people.shades.ShadeRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, org_id: OrgId, owner: PrincipalId) -> Shade | None:
        """See the port."""
        table = shades.c
        cursor = await self._connection.execute(
            select(table.shade).where(table.org_id == org_id, table.owner == owner)
        )
        shade = cursor.scalar_one_or_none()
        return None if shade is None else Shade(shade)

    async def put(self, org_id: OrgId, owner: PrincipalId, shade: Shade | None) -> None:
        """See the port."""
        table = shades.c
        await self._connection.execute(
            delete(shades).where(table.org_id == org_id, table.owner == owner)
        )
        if shade is not None:
            row = {"org_id": org_id, "owner": owner, "shade": shade.value}
            await self._connection.execute(insert(shades), row)
