"""Export and import: the rows of one database become an archive, or come out of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO

from sqlalchemy import Table
from sqlalchemy.ext.asyncio import AsyncConnection

import atoll
from atoll.adapters.storage.archive import tables
from atoll.adapters.storage.archive.archive_format import (
    FORMAT,
    ArchiveReader,
    ArchiveWriter,
    Head,
    Opening,
    damage_error,
)
from atoll.adapters.storage.migrations import schema
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.ports.database import Headway, TableCopy


@dataclass(slots=True)
class _Progress:
    """Rows that are done, of those expected."""

    expected: int
    headway: Headway | None
    done: int = 0

    def add(self, rows: int) -> None:
        """Report further rows."""
        self.done += rows
        if self.headway is not None:
            self.headway(self.done, self.expected)


async def export_to(
    connection: AsyncConnection, to: BinaryIO, headway: Headway | None
) -> tuple[TableCopy, ...]:
    """Write the archive of what the connection's transaction sees."""
    revision = await connection.run_sync(schema.revision)
    if revision != schema.HEAD:
        raise Conflict(
            f"The database has schema {revision}, this program knows {schema.HEAD}: run `atoll db "
            "migrate` first."
        )
    counts = {table.name: await tables.count(connection, table) for table in tables.tables()}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    head = Head("database", FORMAT, schema.HEAD, atoll.__version__, now, counts)
    progress = _Progress(sum(counts.values()), headway)
    writer = ArchiveWriter(to, head)
    for table in tables.tables():
        writer.begin(await tables.opening_of(connection, table))
        async for page in tables.pages(connection, table):
            for row in page:
                writer.add(row)
            progress.add(len(page))
        writer.end(table.name)
    progress.add(0)
    return writer.finish()


async def import_from(
    connection: AsyncConnection, reader: ArchiveReader, headway: Headway | None
) -> tuple[TableCopy, ...]:
    """Read an archive in the connection's transaction, and compare what is there then."""
    await _make_ready(connection, reader.head)
    progress = _Progress(sum(reader.head.rows.values()), headway)
    wanted = {table.name: table for table in tables.tables()}
    for opening in reader.openings():
        table = _table(wanted, opening)
        async for rows in tables.put(connection, table, reader.rows(opening)):
            progress.add(rows)
        await tables.continue_numbers(connection, table, opening)
    copied = reader.manifest()
    if wanted:
        raise damage_error(f"it has no rows of {', '.join(wanted)}")
    await _compare(connection, copied)
    progress.add(0)
    return copied


def _table(wanted: dict[str, Table], opening: Opening) -> Table:
    """Take the table that an archive opens out of those that are still to come."""
    table = wanted.pop(opening.table, None)
    if table is None or [column.name for column in table.c] != opening.columns:
        raise damage_error(f"this program has no such table {opening.table[:80]}")
    return table


async def _make_ready(connection: AsyncConnection, head: Head) -> None:
    """Make the tables in an empty database. Raises `Conflict` where something is there already."""
    if head.revision != schema.HEAD:
        raise Invalid(
            f"The archive has schema {head.revision[:20]}, this program knows {schema.HEAD}: "
            "export it with the same version of Atoll, after `atoll db migrate`."
        )
    if await connection.run_sync(schema.is_empty):
        await connection.run_sync(schema.create)
        return
    revision = await connection.run_sync(schema.revision)
    if revision is None:
        raise Conflict("The database holds tables of something else: name an empty one.")
    if revision != schema.HEAD:
        raise Conflict(f"The database has schema {revision}: it is not empty. Name an empty one.")
    used = [table.name for table in tables.tables() if await tables.count(connection, table)]
    if used:
        raise Conflict(
            f"The database is not empty: there are rows in {', '.join(used)}. Name an empty one."
        )


async def _compare(connection: AsyncConnection, copied: Sequence[TableCopy]) -> None:
    known = {table.name: table for table in tables.tables()}
    for copy in copied:
        if await tables.tally(connection, known[copy.name]) != copy:
            raise Failed(
                f"The rows of {copy.name} are not those of the archive after the import: nothing "
                "was kept. Is something else writing to this database?"
            )
