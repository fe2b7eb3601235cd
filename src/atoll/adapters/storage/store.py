"""The SQL store: engines, transactions, and the translation of a database's errors.

On SQLite one connection writes (BEGIN IMMEDIATE, so a transaction never fails half-way for a lock)
and a few read beside it. On PostgreSQL every writing transaction takes one advisory lock, which
gives the same order of commits, positions and limits.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from atoll.adapters.storage.approvals import SqlApprovalRows
from atoll.adapters.storage.events import SqlEventRows
from atoll.adapters.storage.idempotency import SqlIdempotencyRows
from atoll.adapters.storage.logs import SqlLogRows
from atoll.adapters.storage.profiles import SqlProfileRows
from atoll.adapters.storage.sandboxes import SqlSandboxRows
from atoll.adapters.storage.schema import upgrade
from atoll.adapters.storage.secrets import SqlSecretRows
from atoll.adapters.storage.shares import SqlShareRows
from atoll.adapters.storage.sqlite_link import link
from atoll.domain.errors import Unavailable
from atoll.ports import Transaction
from atoll.ports.store.approvals import ApprovalRows
from atoll.ports.store.events import EventRows
from atoll.ports.store.idempotency import IdempotencyRows
from atoll.ports.store.logs import LogRows
from atoll.ports.store.profiles import ProfileRows
from atoll.ports.store.sandboxes import SandboxRows
from atoll.ports.store.secrets import SecretRows
from atoll.ports.store.shares import ShareRows

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


class SqlTransaction:
    """The `ports.store.store.Transaction` on one connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @property
    def sandboxes(self) -> SandboxRows:
        """See the port."""
        return SqlSandboxRows(self._connection)

    @property
    def events(self) -> EventRows:
        """See the port."""
        return SqlEventRows(self._connection)

    @property
    def logs(self) -> LogRows:
        """See the port."""
        return SqlLogRows(self._connection)

    @property
    def profiles(self) -> ProfileRows:
        """See the port."""
        return SqlProfileRows(self._connection)

    @property
    def idempotency(self) -> IdempotencyRows:
        """See the port."""
        return SqlIdempotencyRows(self._connection)

    @property
    def secrets(self) -> SecretRows:
        """See the port."""
        return SqlSecretRows(self._connection)

    @property
    def approvals(self) -> ApprovalRows:
        """See the port."""
        return SqlApprovalRows(self._connection)

    @property
    def shares(self) -> ShareRows:
        """See the port."""
        return SqlShareRows(self._connection)


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
                yield SqlTransaction(connection)
        except (DBAPIError, PoolTimeout) as err:
            raise _unavailable(err) from err

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """See the port."""
        try:
            async with self._reader.connect() as connection:
                yield SqlTransaction(connection)
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
