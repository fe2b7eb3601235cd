"""All rows of each table, page by page, as an archive holds them, and the numbers that follow.

A page begins after the last primary key, so a table of any size needs the memory of one page.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from itertools import islice

from sqlalchemy import Column, LargeBinary, Table, Text, func, insert, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.sql.functions import Function

from atoll.adapters.storage.archive.archive_format import (
    Opening,
    Tally,
    Value,
    damage_error,
    line_of,
)
from atoll.adapters.storage.columns import metadata, storable
from atoll.ports.database import TableCopy

PAGE = 200
"""Rows that are in memory at once."""

Encode = Callable[[object], Value]


def tables() -> list[Table]:
    """Return all tables by name."""
    return sorted(metadata.tables.values(), key=lambda table: table.name)


async def count(connection: AsyncConnection, table: Table) -> int:
    """Return the number of rows."""
    cursor = await connection.execute(select(func.count()).select_from(table))
    return cursor.scalar_one()


async def pages(connection: AsyncConnection, table: Table) -> AsyncIterator[list[list[Value]]]:
    """Yield all rows as an archive holds them, in the order of the primary key."""
    key = list(table.primary_key.columns)
    places = [list(table.c).index(column) for column in key]
    encoders = [_encoder(column) for column in table.c]
    query = select(table).order_by(*key).limit(PAGE)
    page = (await connection.execute(query)).all()
    while page:
        yield [[e(value) for e, value in zip(encoders, row, strict=True)] for row in page]
        last = [page[-1][place] for place in places]
        more = query.where(tuple_(*key) > tuple_(*last))
        page = (await connection.execute(more)).all() if len(page) == PAGE else []


async def put(
    connection: AsyncConnection, table: Table, rows: Iterable[list[Value]]
) -> AsyncIterator[int]:
    """Insert rows as an archive holds them, and yield how many each time. Raises `Invalid` for a
    value that its column does not take."""
    wanting = iter(rows)
    while page := list(islice(wanting, PAGE)):
        await connection.execute(insert(table), [dict(_decode_row(table, row)) for row in page])
        yield len(page)


async def tally(connection: AsyncConnection, table: Table) -> TableCopy:
    """Return the copy that an archive would hold of the table as it is."""
    counted = Tally()
    async for page in pages(connection, table):
        for row in page:
            counted.add(line_of(row))
    return counted.copy(table.name)


async def opening_of(connection: AsyncConnection, table: Table) -> Opening:
    """Return the line that opens the table in an archive."""
    names = [str(column.name) for column in table.c]
    return Opening(str(table.name), names, await _next_number(connection, table))


async def continue_numbers(connection: AsyncConnection, table: Table, opening: Opening) -> None:
    """Have the database give the table's next row the number that the archive names."""
    column = table.autoincrement_column
    if column is None or opening.next is None:
        return
    if connection.dialect.name == "postgresql":
        given = select(func.setval(_sequence(table, column), opening.next, False))
        await connection.execute(given)
    elif table.dialect_options["sqlite"]["autoincrement"]:
        # SQLite numbers the rows of other tables after the highest one.
        last, name = opening.next - 1, table.name
        for statement in (
            "DELETE FROM sqlite_sequence WHERE name = :name",
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)",
        ):
            bound = {"name": name, "last": last} if ":last" in statement else {"name": name}
            await connection.execute(text(statement), bound)


async def _next_number(connection: AsyncConnection, table: Table) -> int | None:
    column = table.autoincrement_column
    if column is None:
        return None
    highest = (await connection.execute(select(func.max(column)))).scalar() or 0
    if connection.dialect.name == "postgresql":
        sequence = (await connection.execute(select(_sequence(table, column)))).scalar_one()
        given = await connection.execute(
            text(f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608  the database's name
        )
        last, called = given.one()
        return max(int(highest), int(last) if called else int(last) - 1) + 1
    if table.dialect_options["sqlite"]["autoincrement"]:
        cursor = await connection.execute(
            text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name}
        )
        highest = max(highest, cursor.scalar() or 0)
    return int(highest) + 1


def _sequence(table: Table, column: Column[int]) -> Function[str]:
    return func.pg_get_serial_sequence(table.name, column.name)


def _encoder(column: Column[object]) -> Encode:
    if isinstance(column.type, LargeBinary):
        return lambda value: None if value is None else base64.b64encode(value).decode()  # type: ignore[arg-type]
    if isinstance(column.type, Text):
        return lambda value: None if value is None else storable(value)  # type: ignore[arg-type]
    return lambda value: value  # type: ignore[return-value]


def _decode_row(table: Table, row: list[Value]) -> Iterator[tuple[str, object]]:
    """Yield each column's name and value. Raises `Invalid` for a value of another type."""
    for column, value in zip(table.c, row, strict=True):
        if value is None and not column.nullable:
            raise damage_error(f"{table.name}.{column.name} is missing in a row")
        if isinstance(column.type, LargeBinary) and value is not None:
            yield column.name, _bytes(table, column, value)
            continue
        if value is not None and not isinstance(value, column.type.python_type):
            raise damage_error(f"{table.name}.{column.name} has a value of another type in a row")
        yield column.name, value


def _bytes(table: Table, column: Column[object], value: Value) -> bytes:
    try:
        return base64.b64decode(str(value), validate=True)
    except binascii.Error as err:
        raise damage_error(
            f"{table.name}.{column.name} has a value of another type in a row"
        ) from err
