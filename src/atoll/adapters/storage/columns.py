"""Shared parts of the tables: their metadata, the type of counters, and moments as numbers.

Each table stands beside its rows. Every row carries `org_id` and `owner`. Data that is only shown
is one JSON `body`; data that is searched has a column. Times are microseconds since 1970, UTC:
exact and sortable in any database.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from sqlalchemy import BigInteger, ColumnElement, Integer, MetaData, Select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from atoll.domain.paging import PageQuery, RowPage, cut_page

T = TypeVar("T")

metadata = MetaData()

COUNTER = BigInteger().with_variant(Integer(), "sqlite")
"""The type of a column that numbers its rows. SQLite does so for exactly this type."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Return microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_us(number: int) -> datetime:
    """Return the moment, timezone-aware UTC."""
    return _EPOCH + timedelta(microseconds=number)


def storable(text: str) -> str:
    """Return text that every database stores: PostgreSQL takes no character NUL. Where text comes
    from a sandbox, it may hold one; U+2400 stands in its place."""
    return text.replace("\0", "\u2400")


async def read_page(
    connection: AsyncConnection,
    rows: Select[str, int, str],
    page: PageQuery,
    *,
    decode: Callable[[str], T],
    newest_first: bool = True,
) -> RowPage[T]:
    """Read one page of a statement that selects the body of each row, and its place: moment, then
    text. The database reads `limit` rows and one more."""
    _, moment, text = rows.selected_columns
    place: tuple[ColumnElement[int], ColumnElement[str]] = (moment, text)
    if page.after is not None:
        after = tuple_(to_us(page.after[0]), page.after[1])
        rows = rows.where(tuple_(*place) < after if newest_first else tuple_(*place) > after)
    order = [column.desc() if newest_first else column.asc() for column in place]
    listed = (await connection.execute(rows.order_by(*order).limit(page.limit + 1))).all()
    cut = cut_page(listed, page.limit, lambda row: (from_us(row[1]), row[2]))
    return RowPage([decode(row[0]) for row in cut.rows], cut.following)
