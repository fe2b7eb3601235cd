"""The table of the desktops that people linked, and its rows."""

import msgspec
from sqlalchemy import Column, Table, Text, UniqueConstraint, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.ids import DesktopId, OrgId, PrincipalId
from atoll.domain.worker.desktop import Desktop
from atoll.ports.store.worker.desktops import DesktopRows

desktops = Table(
    "desktops",
    metadata,
    Column("id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "owner", "name"),
)

_decoder = msgspec.json.Decoder(Desktop)


class SqlDesktopRows(DesktopRows):
    """The `ports.store.worker.desktops.DesktopRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, desktop: Desktop) -> None:
        """See the port."""
        await self.remove(desktop.id)
        row = {
            "id": desktop.id,
            "org_id": desktop.org_id,
            "owner": desktop.owner,
            "name": desktop.name,
            "body": msgspec.json.encode(desktop).decode(),
        }
        await self._connection.execute(insert(desktops), row)

    async def get(self, desktop_id: DesktopId) -> Desktop | None:
        """See the port."""
        found = await self._connection.execute(
            select(desktops.c.body).where(desktops.c.id == desktop_id)
        )
        body = found.scalar_one_or_none()
        return None if body is None else _decoder.decode(body)

    async def of(self, org_id: OrgId, owner: PrincipalId) -> list[Desktop]:
        """See the port."""
        table = desktops.c
        found = await self._connection.execute(
            select(table.body)
            .where(table.org_id == org_id, table.owner == owner)
            .order_by(table.name)
        )
        return [_decoder.decode(body) for body in found.scalars()]

    async def remove(self, desktop_id: DesktopId) -> None:
        """See the port."""
        await self._connection.execute(delete(desktops).where(desktops.c.id == desktop_id))
