"""Shared parts of the tables: their metadata, the type of counters, and moments as numbers.

Each table stands beside its rows. Every row carries `org_id` and `owner`. Data that is only shown
is one JSON `body`; data that is searched has a column. Times are microseconds since 1970, UTC:
exact and sortable in any database.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import BigInteger, Integer, MetaData

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
