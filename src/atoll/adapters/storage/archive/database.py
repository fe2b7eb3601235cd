"""The database of a home as `ports.database.Database`. Each call opens it and closes it again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

from sqlalchemy import URL, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.adapters.storage.archive import tables
from atoll.adapters.storage.archive.archive_format import ArchiveReader
from atoll.adapters.storage.archive.copies import export_to, import_from
from atoll.adapters.storage.engines.engines import APPLICATION, FAULTS, Engines, unavailable
from atoll.adapters.storage.engines.sqlite import SQLITE
from atoll.adapters.storage.migrations import schema
from atoll.adapters.storage.projections import lags
from atoll.adapters.storage.store import open_engines, parse_url
from atoll.adapters.storage.transaction import transaction
from atoll.domain.errors import Conflict, NotFound
from atoll.ports import Transaction
from atoll.ports.database import (
    DatabaseStatus,
    Headway,
    Migrated,
    ProjectionLag,
    TableCopy,
    TableSize,
)
from atoll.wire.words.workers import SUMMARIES

T = TypeVar("T")


class Derivation(Protocol):
    """A projection that is derived anew: read as of one moment, then stored at once."""

    async def read(self, rows: Transaction, headway: Headway | None = None) -> None:
        """Derive it; `rows` sees one moment."""
        ...

    async def switch(self, rows: Transaction) -> int:
        """Store it, and return the position that it is derived up to."""
        ...


TOOL = "atoll db"
"""The name of these connections in `pg_stat_activity`."""

_CONTROL_PLANES = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = :name"
)

_WHOLE = {
    SQLITE: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
    "postgresql": "SELECT pg_database_size(current_database())",
}
_SIZES = {
    SQLITE: "SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name)"
    " GROUP BY tbl_name",
    "postgresql": "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
}


class SqlDatabase:
    """A `ports.database.Database` at a URL."""

    def __init__(
        self, url: str, derivations: Mapping[str, Callable[[], Derivation]] | None = None
    ) -> None:
        """Take what makes the derivation of each projection, by its name."""
        self._url = url
        self._derivations = derivations or {}

    def status(self) -> DatabaseStatus:
        """See the port."""
        parsed = parse_url(self._url)
        if parsed.get_backend_name() == SQLITE and not Path(parsed.database or "").exists():
            return DatabaseStatus(SQLITE, _place(parsed), None, schema.HEAD, 0, ())

        async def work(engines: Engines) -> DatabaseStatus:
            async with _snapshot(engines) as connection:
                return await _status(connection, _place(parsed))

        return self._run(work)

    def migrate(self) -> Migrated:
        """See the port."""

        async def work(engines: Engines) -> Migrated:
            await _check_unused(engines)
            return Migrated(*await schema.upgrade(engines))

        return self._run(work)

    def rebuild(
        self, names: Collection[str] = (), headway: Headway | None = None
    ) -> tuple[ProjectionLag, ...]:
        """See the port."""
        unknown = sorted(set(names) - self._derivations.keys())
        if unknown:
            known = ", ".join(sorted(self._derivations))
            raise NotFound(f"There is no projection {unknown[0][:80]!r}; there is {known}.")
        if self.status().revision != schema.HEAD:
            raise Conflict("The schema is not up to date: run `atoll db migrate` first.")

        async def work(engines: Engines) -> tuple[ProjectionLag, ...]:
            wanted = [name for name in self._derivations if name in names or not names]
            return tuple([await self._derive(engines, name, headway) for name in wanted])

        return self._run(work)

    async def _derive(self, engines: Engines, name: str, headway: Headway | None) -> ProjectionLag:
        derivation = self._derivations[name]()
        async with _snapshot(engines) as connection:
            await derivation.read(transaction(connection), headway)
        async with engines.writing() as connection:
            return ProjectionLag(name, await derivation.switch(transaction(connection)), 0)

    def export(self, to: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        if self.status().revision is None:
            raise Conflict("The database has no tables yet: run `atoll db migrate` first.")

        async def work(engines: Engines) -> tuple[TableCopy, ...]:
            await _check_unused(engines)
            async with _snapshot(engines) as connection:
                return await export_to(connection, to, headway)

        return self._run(work)

    def load(self, source: BinaryIO, headway: Headway | None = None) -> tuple[TableCopy, ...]:
        """See the port."""
        reader = ArchiveReader(source)

        async def work(engines: Engines) -> tuple[TableCopy, ...]:
            await _check_unused(engines)
            async with engines.writing() as connection:
                return await import_from(connection, reader, headway)

        return self._run(work)

    def _run(self, work: Callable[[Engines], Coroutine[Any, Any, T]]) -> T:
        async def run() -> T:
            # A statement may take as long as it takes, and so may the one who reads the archive.
            engines = open_engines(self._url, 2, seconds=None, name=TOOL)
            try:
                return await work(engines)
            except FAULTS as err:
                raise unavailable(err) from err
            finally:
                await engines.close()

        return asyncio.run(run())


def _place(url: URL) -> str:
    """Return where a database is, without its password."""
    if url.get_backend_name() == SQLITE:
        return url.database or ":memory:"
    host = url.host or url.query.get("host", "localhost")
    port = f":{url.port}" if url.port else ""
    return f"{host}{port}/{url.database or ''}"


@asynccontextmanager
async def _snapshot(engines: Engines) -> AsyncIterator[AsyncConnection]:
    """Open a transaction that only reads, and sees one moment."""
    async with engines.reader.connect() as connection:
        lasting = " ISOLATION LEVEL REPEATABLE READ READ ONLY"
        sqlite = connection.dialect.name == SQLITE
        await connection.exec_driver_sql("BEGIN" if sqlite else f"BEGIN{lasting}")
        try:
            yield connection
        finally:
            await connection.exec_driver_sql("ROLLBACK")


async def _check_unused(engines: Engines) -> None:
    """Raise `Conflict` when a control plane is connected, from whatever machine. One that uses
    SQLite holds the lock of the home."""
    if engines.reader.dialect.name == SQLITE:
        return
    async with engines.reader.connect() as connection:
        cursor = await connection.execute(text(_CONTROL_PLANES), {"name": APPLICATION})
    if number := cursor.scalar_one():
        raise Conflict(
            f"A running Atoll uses this database ({number} connections): end every control plane "
            "first, with `atoll down`."
        )


async def _status(connection: AsyncConnection, place: str) -> DatabaseStatus:
    backend = connection.dialect.name
    revision = await connection.run_sync(schema.revision)
    names = await connection.run_sync(schema.table_names)
    whole = await connection.execute(text(_WHOLE[backend]))
    sizes = await _sizes(connection)
    known = [table for table in tables.tables() if table.name in names]
    counted = [
        TableSize(str(table.name), await tables.count(connection, table), sizes.get(table.name))
        for table in known
    ]
    current = revision == schema.HEAD
    return DatabaseStatus(
        backend,
        place,
        revision,
        schema.HEAD,
        int(whole.scalar_one()),
        tuple(counted),
        await _lags(connection) if current else (),
    )


async def _lags(connection: AsyncConnection) -> tuple[ProjectionLag, ...]:
    """Return how far each projection is. That of workers is derived from their own streams."""
    total = await transaction(connection).worker_summaries.total()
    behind = ProjectionLag(SUMMARIES, total.derived, max(0, total.newest - total.derived))
    return (*await lags(connection), *((behind,) if total.newest else ()))


async def _sizes(connection: AsyncConnection) -> dict[str, int]:
    """Return the bytes of each table, where the database knows them: SQLite may be built without
    `dbstat`."""
    try:
        cursor = await connection.execute(text(_SIZES[connection.dialect.name]))
    except DBAPIError:
        return {}
    return {name: int(size) for name, size in cursor}
