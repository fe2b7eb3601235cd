"""The SQL store: engines, transactions, and the translation of a database's errors.

On SQLite one connection writes (BEGIN IMMEDIATE, so a transaction never fails half-way for a lock)
and a few read beside it. On PostgreSQL every writing transaction takes one advisory lock, which
gives the same order of commits, positions and limits.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from sqlalchemy import URL, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from atoll.adapters.storage.schema import upgrade
from atoll.adapters.storage.sqlite_link import link
from atoll.domain.errors import Unavailable
from atoll.ports import Transaction

_WRITE_LOCK = 0x41746F6C6C
"""The key of PostgreSQL's advisory lock: "Atoll" in ASCII."""

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA busy_timeout=5000",
    "PRAGMA foreign_keys=ON",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. `url` is an SQLAlchemy URL with an async driver (`sqlite+aiosqlite:///…`,
    `postgresql+asyncpg://…`); `readers` bounds the connections that read."""

    url: str
    readers: int = 4


def _row_classes() -> dict[str, type[Any]]:
    """Return what implements each field of a transaction, by the field's name.

    The class `SecretRows` of `ports.store.secrets` is `SqlSecretRows` of `secrets` here, and so on.
    """
    found = {}
    for name, port in get_type_hints(Transaction).items():
        module = import_module(f"{__package__}.{port.__module__.rpartition('.')[2]}")
        found[name] = getattr(module, f"Sql{port.__name__}")
    return found


ROW_CLASSES = _row_classes()
"""The rows of a transaction, by its fields."""


def _transaction(connection: AsyncConnection) -> Transaction:
    return Transaction(**{name: rows(connection) for name, rows in ROW_CLASSES.items()})


class SqlStore:
    """The `ports.store.store.Store` on SQL. Made by `open_store`."""

    def __init__(self, writer: AsyncEngine, reader: AsyncEngine) -> None:
        self._writer = writer
        self._reader = reader

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """See the port."""
        with_lock = self._writer.dialect.name == "postgresql"
        try:
            async with self._writer.begin() as connection:
                if with_lock:
                    lock = text("SELECT pg_advisory_xact_lock(:key)")
                    await connection.execute(lock, {"key": _WRITE_LOCK})
                yield _transaction(connection)
        except (DBAPIError, PoolTimeout) as err:
            raise _unavailable(err) from err

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """See the port."""
        try:
            async with self._reader.connect() as connection:
                yield _transaction(connection)
        except (DBAPIError, PoolTimeout) as err:
            raise _unavailable(err) from err

    async def close(self) -> None:
        """See the port."""
        await self._writer.dispose()
        if self._reader is not self._writer:
            await self._reader.dispose()


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[SqlStore]:
    """Open the store at `settings.url`, its schema brought up to date; closed on leaving.

    Raises `Unavailable` when the database cannot be opened or is newer than this program.
    """
    url = make_url(settings.url)
    if url.get_backend_name() == "sqlite":
        store = _sqlite(url, settings.readers)
    else:
        engine = create_async_engine(url, pool_size=settings.readers + 1, pool_pre_ping=True)
        store = SqlStore(engine, engine.execution_options(isolation_level="AUTOCOMMIT"))
    try:
        try:
            await upgrade(store._writer)
        except DBAPIError as err:
            raise _unavailable(err) from err
        yield store
    finally:
        await store.close()


def sqlite_url(path: Path) -> str:
    """Return the URL of a SQLite file."""
    return URL.create("sqlite+aiosqlite", database=str(path)).render_as_string()


def _sqlite(url: URL, readers: int) -> SqlStore:
    if url.database:
        # SQLite gives its -wal and -shm files the mode of the file itself.
        Path(url.database).touch(mode=0o600, exist_ok=True)
    more: dict[str, Any] = {"async_creator": partial(link, url.database)} if url.database else {}
    # `begin` ends every transaction itself and readers have none: nothing to reset on return.
    writer = create_async_engine(
        url, pool_size=1, max_overflow=0, pool_reset_on_return=None, **more
    )
    reader = create_async_engine(
        url,
        pool_size=readers,
        max_overflow=0,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
        **more,
    )
    event.listen(writer.sync_engine, "connect", _prepare)
    event.listen(reader.sync_engine, "connect", _prepare)
    event.listen(writer.sync_engine, "begin", _begin_immediate)
    return SqlStore(writer, reader)


def _prepare(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
    # The driver's own implicit BEGIN would come too late and as DEFERRED.
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


def _begin_immediate(connection: object) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # type: ignore[attr-defined]


def _unavailable(err: Exception) -> Unavailable:
    detail = str(getattr(err, "orig", None) or err).splitlines()[0]
    return Unavailable(
        f"The database did not answer as it should ({detail}): try again, and look at the disk "
        "or the database server if it stays."
    )
