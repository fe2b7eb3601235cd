"""Table and rows of the outbox: cursors over the log, which is itself the queue."""

from sqlalchemy import BigInteger, Column, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import metadata
from atoll.domain.outbox import Cursor
from atoll.ports.store.outbox import OutboxRows

outbox_cursors = Table(
    "outbox_cursors",
    metadata,
    Column("stream", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("sequence", BigInteger, nullable=False),
)
"""The cursors of the installation's log: they belong to no organization."""


class SqlOutboxRows(OutboxRows):
    """The `ports.store.outbox.OutboxRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def cursor(self, stream: str) -> Cursor | None:
        """See the port."""
        cursor = await self._connection.execute(
            select(outbox_cursors).where(outbox_cursors.c.stream == stream)
        )
        row = cursor.one_or_none()
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
