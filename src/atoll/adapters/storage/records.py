"""Rows that are key columns and a JSON body, and the statements that their nouns share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, TypeVarTuple

import msgspec
from sqlalchemy import ColumnElement, Insert, Table, bindparam, delete, insert, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.domain.ids import OrgId, PrincipalId

T = TypeVar("T")
Key = TypeVarTuple("Key")


class RecordTable(Generic[T]):
    """A table whose rows are values of one type. The column `body` has the JSON of a value, and
    `columns` gives the others. `key` are the columns that tell values apart, those of the primary
    key unless given; `order` is the order of lists."""

    def __init__(
        self,
        table: Table,
        kind: type[T],
        columns: Callable[[T], Mapping[str, object]],
        *,
        key: Sequence[ColumnElement[Any]] = (),
        order: Sequence[ColumnElement[Any]] = (),
    ) -> None:
        self.table = table
        self.columns = columns
        self.key = key or list(table.primary_key)
        self.order = order
        self.decode = msgspec.json.Decoder(kind).decode
        at_key = [column == bindparam(f"key_{column.name}") for column in self.key]
        self.select = select(table.c.body).where(*at_key)
        self.remove = delete(table).where(*at_key)
        self.insert = insert(table)
        self._upserts = {} if key else _upserts(table)

    def upsert(self, dialect: str) -> Insert | None:
        """Return the statement that adds a row or replaces that of its key; None where the key is
        not the primary one."""
        return self._upserts.get(dialect)

    def at(self, key: Iterable[object]) -> dict[str, object]:
        """Return the parameters of `select` and `remove` for a key."""
        return {f"key_{column.name}": part for column, part in zip(self.key, key, strict=True)}

    def row(self, value: T) -> dict[str, object]:
        """Return the row of a value."""
        return {**self.columns(value), "body": msgspec.json.encode(value).decode()}


class SqlRecords(Generic[T, *Key]):
    """The `ports.store.records.Records` on one connection. A noun names its table in `records`, and
    adds its own queries with `_one`, `_all` and `_delete`."""

    records: RecordTable[T]

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def add(self, value: T, /) -> None:
        """Add a value, whose key must be new."""
        await self._connection.execute(self.records.insert, self.records.row(value))

    async def put(self, value: T, /) -> None:
        """See the port."""
        upsert = self.records.upsert(self._connection.dialect.name)
        if upsert is not None:
            await self._connection.execute(upsert, self.records.row(value))
            return
        columns = self.records.columns(value)
        await self._remove(columns[column.name] for column in self.records.key)
        await self.add(value)

    async def get(self, *key: *Key) -> T | None:
        """See the port."""
        cursor = await self._connection.execute(self.records.select, self.records.at(key))
        body = cursor.scalar_one_or_none()
        return None if body is None else self.records.decode(body)

    async def remove(self, *key: *Key) -> None:
        """See the port."""
        await self._remove(key)

    async def _remove(self, key: Iterable[object]) -> None:
        await self._connection.execute(self.records.remove, self.records.at(key))

    async def _one(self, *where: ColumnElement[bool]) -> T | None:
        """Return the one value for which this holds."""
        cursor = await self._connection.execute(select(self.records.table.c.body).where(*where))
        body = cursor.scalar_one_or_none()
        return None if body is None else self.records.decode(body)

    async def _all(
        self, *where: ColumnElement[bool], order: Sequence[ColumnElement[Any]] | None = None
    ) -> list[T]:
        """Return the values for which this holds, in the order of the noun or another one."""
        query = select(self.records.table.c.body).where(*where)
        cursor = await self._connection.execute(
            query.order_by(*(self.records.order if order is None else order))
        )
        return [self.records.decode(body) for body in cursor.scalars()]

    async def _delete(self, *where: ColumnElement[bool]) -> int:
        """Remove the rows for which this holds, and return their number."""
        return (await self._connection.execute(delete(self.records.table).where(*where))).rowcount


class SqlOwnedRecords(SqlRecords[T, *Key]):
    """The `ports.store.records.OwnedRecords` on one connection."""

    async def of(self, org_id: OrgId, owner: PrincipalId, /) -> list[T]:
        """See the port."""
        table = self.records.table.c
        return await self._all(table.org_id == org_id, table.owner == owner)


def _upserts(table: Table) -> dict[str, Insert]:
    """Return, by dialect, the statement that adds a row or replaces that of its key."""
    return {
        "sqlite": _upsert(sqlite.insert(table), table),
        "postgresql": _upsert(postgresql.insert(table), table),
    }


def _upsert(statement: sqlite.Insert | postgresql.Insert, table: Table) -> Insert:
    values = {
        column.name: statement.excluded[column.name]
        for column in table.columns
        if not column.primary_key
    }
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)
