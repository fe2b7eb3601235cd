"""Moments as whole microseconds since 1970, UTC: exact and sortable in any database."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_us(at: datetime) -> int:
    """Return microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def from_us(number: int) -> datetime:
    """Return the moment, timezone-aware UTC."""
    return _EPOCH + timedelta(microseconds=number)
