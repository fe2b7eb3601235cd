"""Rows that are key columns and a JSON body, and the statements that their nouns share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, TypeVarTuple

import msgspec
from sqlalchemy import ColumnElement, Table, delete, insert, select
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
        await self._connection.execute(insert(self.records.table), self.records.row(value))

    async def put(self, value: T, /) -> None:
        """See the port."""
        columns = self.records.columns(value)
        await self._delete(*(column == columns[column.name] for column in self.records.key))
        await self.add(value)

    async def get(self, *key: *Key) -> T | None:
        """See the port."""
        return await self._one(*self._key_conditions(key))

    async def remove(self, *key: *Key) -> None:
        """See the port."""
        await self._delete(*self._key_conditions(key))

    def _key_conditions(self, key: Iterable[object]) -> list[ColumnElement[bool]]:
        """Return the conditions for the row of a key."""
        return [column == part for column, part in zip(self.records.key, key, strict=True)]

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
