"""Tables and rows of the outbox: leases, and cursors over the log, which is itself the queue."""

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.lease import Lease
from atoll.domain.outbox import Cursor
from atoll.ports.store.outbox import LeaseRows, OutboxRows

leases = Table(
    "leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("holder", Text, nullable=False),
    Column("fence", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),
)
"""The leases of the installation: they belong to no organization."""

outbox_cursors = Table(
    "outbox_cursors",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
)
"""The cursors of the installation's log: they belong to no organization."""


class SqlLeaseRows(LeaseRows):
    """The `ports.store.outbox.LeaseRows` on one connection."""

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


class SqlOutboxRows(OutboxRows):
    """The `ports.store.outbox.OutboxRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def cursor(self, stream: str) -> Cursor | None:
        """See the port."""
        found = await self._connection.execute(
            select(outbox_cursors).where(outbox_cursors.c.stream == stream)
        )
        row = found.one_or_none()
        return None if row is None else Cursor(row.position, row.sequence)

    async def set_cursor(self, stream: str, cursor: Cursor) -> None:
        """See the port."""
        await self._connection.execute(
            delete(outbox_cursors).where(outbox_cursors.c.stream == stream)
        )
        await self._connection.execute(
            insert(outbox_cursors),
            {"stream": stream, "position": cursor.position, "sequence": cursor.sequence},
        )
