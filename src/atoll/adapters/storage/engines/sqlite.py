"""Connections to a SQLite file: one writes, a few read beside it.

A writing transaction begins as BEGIN IMMEDIATE, so it never fails half-way for a lock. It does so
in the call of its first statement.
"""

from functools import partial
from pathlib import Path

from sqlalchemy import URL, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from atoll.adapters.storage.engines.dialects import COMPILED, SQLITE_DRIVER
from atoll.adapters.storage.engines.engines import Engines
from atoll.adapters.storage.engines.sqlite_link import Link, link
from atoll.adapters.storage.engines.writer import Writer

SQLITE = "sqlite"
"""The name of this database in SQLAlchemy."""

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA busy_timeout=5000",
    "PRAGMA foreign_keys=ON",
)


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return URL.create("sqlite+aiosqlite", database=str(path)).render_as_string()


def sqlite_engines(url: URL, connections: int, *, synced: bool) -> Engines:
    """Return the engines of a file, which is made where it is missing; only its owner may read
    it. `synced` has every commit outlast a power cut; else the last moments may be lost, and the
    file stays consistent."""
    if url.database:
        # SQLite gives its -wal and -shm files the mode of the file itself.
        Path(url.database).touch(mode=0o600, exist_ok=True)
    prepare = partial(_prepare, f"PRAGMA synchronous={'FULL' if synced else 'NORMAL'}")

    def pool(size: int) -> AsyncEngine:
        # `Writer` ends every transaction itself and readers have none: nothing to reset on return.
        engine = create_async_engine(
            url.set(drivername=SQLITE_DRIVER),
            async_creator=partial(link, url.database or ":memory:"),
            pool_size=size,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            execution_options={"compiled_cache": COMPILED},
        )
        event.listen(engine.sync_engine, "connect", prepare)
        return engine

    return Engines(Writer(pool(1), _writes), pool(max(1, connections - 1)))


def _prepare(sync: str, connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver's own implicit BEGIN would come too late and as DEFERRED.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (*_PRAGMAS, sync):
        cursor.execute(pragma)
    cursor.close()


def _writes(connection: Link) -> Link:
    return connection
