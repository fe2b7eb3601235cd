"""Table and rows of leases."""

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.lease import Lease
from atoll.ports.store.leases import LeaseRows

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),
)
"""The leases of the installation: they belong to no organization."""


class SqlLeaseRows(LeaseRows):
    """The `ports.store.leases.LeaseRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def get(self, name: str) -> Lease | None:
        """See the port."""
        found = await self._connection.execute(select(leases).where(leases.c.name == name))
        row = found.one_or_none()
        return None if row is None else Lease(name, row.holder, row.fence, from_us(row.until_us))

    async def put(self, lease: Lease) -> None:
        """See the port."""
        await self._connection.execute(delete(leases).where(leases.c.name == lease.name))
        await self._connection.execute(
            insert(leases),
            {
                "name": lease.name,
                "holder": lease.holder,
                "fence": lease.fence,
                "until_us": to_us(lease.until),
            },
        )
