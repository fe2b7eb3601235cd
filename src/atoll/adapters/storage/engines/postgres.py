"""Connections to PostgreSQL by asyncpg: one pool that writes, one that reads.

Every writing transaction takes one advisory lock, which gives all replicas one order of commits,
positions and limits. The lock is taken in the round trip that begins the transaction.
"""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from sqlalchemy import URL, event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from atoll.adapters.storage.engines.dialects import COMPILED, ComparedDialect
from atoll.adapters.storage.engines.engines import Engines, unavailable
from atoll.adapters.storage.engines.writer import Writer
from atoll.domain.errors import Failed
from atoll.ports import StoreUnavailable

WRITE_LOCK = 0x41746F6C6C
"""The key of the advisory lock: "Atoll" in ASCII."""

CONNECT_SECONDS = 10.0

WAIT_SECONDS = 30.0
"""The wait for a connection while all are in use."""
_BEGIN = f"BEGIN; SELECT pg_advisory_xact_lock({WRITE_LOCK})"


class PostgresDialect(ComparedDialect, PGDialect_asyncpg):
    """The dialect of PostgreSQL."""

    # SQLAlchemy asks for it in each class.
    supports_statement_cache = True


registry.register("postgresql.atoll", __name__, PostgresDialect.__name__)


def postgres_engines(url: URL, connections: int, *, seconds: float | None, name: str) -> Engines:
    """Return the engines of a database. `seconds` bounds each statement; None is no bound.
    `name` is shown in `pg_stat_activity`.

    Raises `Failed` when asyncpg is missing.
    """
    creator = partial(_connect, _driver(), _dsn(url), _settings(seconds, name), seconds)

    def pool(size: int) -> AsyncEngine:
        engine = create_async_engine(
            "postgresql+atoll://",
            async_creator=creator,
            pool_size=size,
            max_overflow=0,
            pool_timeout=WAIT_SECONDS,
            isolation_level="AUTOCOMMIT",
            pool_reset_on_return=None,
            execution_options={"compiled_cache": COMPILED},
        )
        event.listen(engine.sync_engine, "checkout", _reject_closed)
        return engine

    return Engines(Writer(pool(1), _Link), pool(max(1, connections - 1)))


def _driver() -> Any:
    try:
        return import_module("asyncpg")
    except ImportError as err:
        raise Failed(
            "PostgreSQL needs the Python package asyncpg, which is not installed: run "
            "`pip install 'atoll[postgres]'` in Atoll's environment."
        ) from err


def _dsn(url: URL) -> str:
    """Return the URL as asyncpg reads it, which knows libpq's parameters (`sslmode` …)."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)


def _settings(seconds: float | None, name: str) -> dict[str, str]:
    settings = {"application_name": name}
    if seconds is not None:
        # A replica that stands still in a transaction must not hold the lock for ever.
        settings["idle_in_transaction_session_timeout"] = f"{seconds:.0f}s"
    return settings


async def _connect(driver: Any, dsn: str, settings: dict[str, str], seconds: float | None) -> Any:
    try:
        return await driver.connect(
            dsn, timeout=CONNECT_SECONDS, command_timeout=seconds, server_settings=settings
        )
    except (OSError, ValueError, driver.PostgresError, driver.InterfaceError) as err:
        raise unavailable(err) from err


def _reject_closed(connection: Any, _entry: ConnectionPoolEntry, _fairy: object) -> None:
    """Have the pool replace a connection that the server closed meanwhile, without a round trip."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("the server closed this connection")


class _Link:
    """The writing link over a connection of asyncpg."""

    def __init__(self, connection: Any) -> None:
        driver = _driver()
        self._connection = connection
        self._faults = (
            *(OSError, driver.PostgresError),
            *(driver.InterfaceError, driver.InternalClientError),
        )

    def is_closed(self) -> bool:
        """See `WriteLink`."""
        closed: bool = self._connection.is_closed()
        return closed

    async def begin(self) -> None:
        """See `WriteLink`."""
        await self._run(_BEGIN)

    async def commit(self) -> None:
        """See `WriteLink`."""
        if await self._run("COMMIT") != "COMMIT":
            raise StoreUnavailable(
                "The database rolled a transaction back, as a statement in it had failed: try "
                "again."
            )

    async def rollback(self) -> None:
        """See `WriteLink`."""
        if self._connection.is_in_transaction():
            await self._run("ROLLBACK")

    async def fetch(self, statement: str, *values: object) -> Sequence[Sequence[Any]]:
        """See `WriteLink`."""
        try:
            rows: Sequence[Sequence[Any]] = await self._connection.fetch(statement, *values)
        except self._faults as err:
            raise unavailable(err) from err
        return rows

    async def _run(self, statements: str) -> str:
        try:
            done: str = await self._connection.execute(statements)
        except self._faults as err:
            raise unavailable(err) from err
        return done
