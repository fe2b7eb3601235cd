"""Engines of one database: one writes, one reads, and the translation of what goes wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine
from sqlalchemy.pool import QueuePool

from atoll.adapters.storage.engines.writer import Writer
from atoll.ports import StoreUnavailable

FAULTS = (DBAPIError, PoolTimeout)
"""Errors of SQLAlchemy that mean that the database did not do its work."""

APPLICATION = "atoll"
"""The name of a control plane's connections in `pg_stat_activity`."""

STATEMENT_SECONDS = 60.0
"""The time that a database server may take for a statement, the wait for the lock included. Where
the network was cut, only this ends the wait."""


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of one database."""

    writer: Writer
    reader: AsyncEngine

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """Open a transaction that no other writer shares, of this process or another one. It
        commits when its block ends and leaves nothing when the block raises. Raises `FAULTS`, and
        `StoreUnavailable` where the connection is lost."""
        async with self.writer.transaction() as writing:
            yield writing.connection

    def in_use(self) -> dict[str, int]:
        """Return the connections in use, by what they do."""
        readers = self.reader.sync_engine.pool
        return {
            "read": readers.checkedout() if isinstance(readers, QueuePool) else 0,
            "write": int(self.writer.busy),
        }

    async def close(self) -> None:
        """Close all connections."""
        await self.writer.close()
        await self.reader.dispose()


def unavailable(err: BaseException) -> StoreUnavailable:
    """Return the error for people. It holds the first line that the database or driver said."""
    if isinstance(err, StoreUnavailable):
        return StoreUnavailable(err.message)
    if isinstance(err, PoolTimeout):
        return StoreUnavailable(
            "All connections to the database are in use: try again, or raise database_connections "
            "if it stays."
        )
    lines = str(getattr(err, "orig", None) or err).splitlines() or [type(err).__name__]
    # SQLAlchemy puts the driver's class before what it said.
    detail = lines[0].partition(">: ")[2] if lines[0].startswith("<class ") else lines[0]
    return StoreUnavailable(
        f"The database did not answer as it should ({detail}): try again, and look at the disk "
        "or the database server if it stays."
    )
