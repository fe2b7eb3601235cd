"""The SQL store: transactions, the rows in them, and the opening of a database.

What differs between databases is in `engines`: how they are connected, and what keeps writing
transactions apart.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.engines.engines import (
    APPLICATION,
    FAULTS,
    STATEMENT_SECONDS,
    Engines,
    unavailable,
)
from atoll.adapters.storage.engines.group_commit import GroupCommit
from atoll.adapters.storage.engines.sqlite import SQLITE, sqlite_engines
from atoll.adapters.storage.engines.whole import WholeStatements
from atoll.adapters.storage.migrations.schema import is_current, upgrade
from atoll.adapters.storage.transaction import transaction
from atoll.domain.errors import Invalid
from atoll.ports import Transaction


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings. `url` is `sqlite+aiosqlite:///…` or libpq's `postgresql://…`; of at most
    `connections` at once, one writes. `synced` has every commit on SQLite outlast a power cut, as
    it does on PostgreSQL."""

    url: str
    connections: int = 5
    synced: bool = False


class SqlStore:
    """The `ports.store.store.Store` on SQL. Made by `open_store`."""

    def __init__(self, engines: Engines) -> None:
        self.engines = engines
        self._commits = GroupCommit(engines.writer.transaction)
        # Made once: the rows of thirty nouns take longer to make than an event to append.
        self._statements = WholeStatements()
        self._rows = transaction(cast(AsyncConnection, self._statements))

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        """See the port."""
        try:
            async with self._commits.block() as writing:
                self._statements.writing = writing
                try:
                    yield self._rows
                finally:
                    self._statements.writing = None
        except FAULTS as err:
            raise unavailable(err) from err

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Transaction]:
        """See the port."""
        try:
            async with self.engines.reader.connect() as connection:
                yield transaction(connection)
        except FAULTS as err:
            raise unavailable(err) from err

    async def close(self) -> None:
        """See the port."""
        await self.engines.close()


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[SqlStore]:
    """Open the store at `settings.url`, its schema brought up to date; closed on leaving.

    Raises `Invalid` for a URL of another database, `Failed` when its driver is missing, and
    `Unavailable` when the database cannot be opened or is newer than this program.
    """
    engines = open_engines(settings.url, settings.connections, synced=settings.synced)
    store = SqlStore(engines)
    try:
        if not await is_current(engines):
            await _upgrade(settings.url)
        yield store
    finally:
        await store.close()


async def _upgrade(url: str) -> None:
    """Migrate on connections of its own: a statement there may take as long as it takes."""
    engines = open_engines(url, 2, seconds=None)
    try:
        await upgrade(engines)
    finally:
        await engines.close()


def open_engines(
    url: str,
    connections: int,
    *,
    seconds: float | None = STATEMENT_SECONDS,
    name: str = APPLICATION,
    synced: bool = False,
) -> Engines:
    """Return the engines of a database; nothing is connected yet. `seconds` bounds the time that
    PostgreSQL may take for a statement; None is no bound. `name` is what it calls us. `synced` is
    as in `Settings`.

    Raises `Invalid` and `Failed` as `open_store` does.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() == SQLITE:
        file = parsed.set(drivername="sqlite+aiosqlite")
        return sqlite_engines(file, connections, synced=synced)
    # Loaded late: a home with SQLite needs no driver of PostgreSQL.
    from atoll.adapters.storage.engines.postgres import postgres_engines

    return postgres_engines(parsed, connections, seconds=seconds, name=name)


def parse_url(url: str) -> URL:
    """Return a URL of SQLite or PostgreSQL; `postgres://` is another spelling. Raises `Invalid`."""
    try:
        parsed = make_url(url)
        if parsed.drivername.partition("+")[0] in (SQLITE, "postgresql", "postgres"):
            return parsed
    except ArgumentError:
        pass  # its words hold the URL, and so may hold a password
    raise Invalid(
        "database_url is neither sqlite:///PATH nor postgresql://USER@HOST/NAME",
        field="database_url",
    )
