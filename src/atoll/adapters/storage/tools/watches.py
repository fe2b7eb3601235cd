"""Table and rows of watches."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import BigInteger, Column, Index, Table, Text, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.columns import from_us, metadata, to_us
from atoll.domain.tools.watch import Watch
from atoll.ports.store.tools.watches import WatchRows

watches = Table(
    "watches",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("expires_us", BigInteger, nullable=False),
    Index("watches_by_end", "expires_us"),
)

AT_ONCE = 500
"""The sessions of one statement."""

_ENDED = ""
"""The path of the row of a session that has ended: no watch has it."""


class SqlWatchRows(WatchRows):
    """The `ports.store.tools.watches.WatchRows` on one connection."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def put(self, watch: Watch) -> None:
        """See the port."""
        key = (watches.c.session_id == watch.session_id, watches.c.path == watch.path)
        known = await self._connection.execute(select(watches.c.path).where(*key))
        if known.first() is not None:
            return
        await self._connection.execute(
            insert(watches),
            {
                "session_id": watch.session_id,
                "path": watch.path,
                "position": watch.position,
                "expires_us": to_us(watch.expires_at),
            },
        )

    async def of(self, session_id: str) -> list[Watch]:
        """See the port."""
        return await self.among((session_id,))

    async def among(self, session_ids: Collection[str]) -> list[Watch]:
        """See the port."""
        listed, ids = list[Watch](), list(session_ids)
        for first in range(0, len(ids), AT_ONCE):
            some = ids[first : first + AT_ONCE]
            theirs = (watches.c.session_id.in_(some), watches.c.path != _ENDED)
            query = select(watches).where(*theirs).order_by(watches.c.path)
            rows = (await self._connection.execute(query)).all()
            listed += [
                Watch(row.session_id, row.path, row.position, from_us(row.expires_us))
                for row in rows
            ]
        return listed

    async def remove(self, session_id: str, path: str) -> None:
        """See the port."""
        gone = delete(watches).where(watches.c.session_id == session_id, watches.c.path == path)
        await self._connection.execute(gone)

    async def end(self, session_id: str, until: datetime) -> None:
        """See the port."""
        await self._connection.execute(delete(watches).where(watches.c.session_id == session_id))
        await self.put(Watch(session_id, _ENDED, 0, until))

    async def ended(self, session_id: str) -> bool:
        """See the port."""
        key = (watches.c.session_id == session_id, watches.c.path == _ENDED)
        cursor = await self._connection.execute(select(watches.c.path).where(*key))
        return cursor.first() is not None

    async def forget(self, before: datetime) -> None:
        """See the port."""
        gone = delete(watches).where(watches.c.expires_us <= to_us(before))
        await self._connection.execute(gone)
