"""Times as people read them: of their own zone (`TZ`), or UTC, and how long ago.

The API speaks RFC 3339 in UTC, and `--json` passes that on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timezone

_ZONE: ContextVar[timezone | None] = ContextVar("zone", default=None)
_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


@contextmanager
def own_zone() -> Iterator[None]:
    """Run one command in the zone of this process; `use_utc` ends with it."""
    token = _ZONE.set(None)
    try:
        yield
    finally:
        _ZONE.reset(token)


def use_utc() -> None:
    """Show the times of this command in UTC."""
    _ZONE.set(UTC)


def moment(at: str) -> str:
    """Return an RFC 3339 time as `2026-01-31 14:05:09 CET`; what cannot be read, unchanged."""
    read = _read(at)
    if read is None:
        return at
    try:
        return read.astimezone(_ZONE.get()).strftime("%Y-%m-%d %H:%M:%S %Z").rstrip()
    except (OverflowError, ValueError):  # beyond the years of this machine's clock
        return at


def moment_with_age(at: str) -> str:
    """Return a time and how long ago it was; empty for none."""
    return f"{moment(at)} ({age(at)} ago)" if at else ""


def moment_with_time_left(at: str) -> str:
    """Return a time and how far it is ahead; empty for none."""
    read = _read(at)
    if read is None:
        return at
    left = int((read - datetime.now(UTC)).total_seconds())
    return f"{moment(at)} (in {span(left)})" if left > 0 else f"{moment(at)} (past)"


def age(at: str) -> str:
    """Return how long ago an RFC 3339 time was, in its largest unit: `3h`; `-` when unknown."""
    seconds = seconds_since(at)
    return "-" if seconds is None else span(seconds)


def seconds_since(at: str) -> int | None:
    """Return whole seconds since an RFC 3339 time, at least 0; None when it cannot be read."""
    read = _read(at)
    return None if read is None else max(0, int((datetime.now(UTC) - read).total_seconds()))


def seconds_between(start: str, end: str) -> int | None:
    """Return whole seconds from one RFC 3339 time to another; None when one cannot be read."""
    begin, finish = _read(start), _read(end)
    return int((finish - begin).total_seconds()) if begin and finish else None


def span(seconds: int) -> str:
    """Return whole units of a time, the largest that fit: `3h`."""
    size, letter = next((unit for unit in _UNITS if seconds >= unit[0]), _UNITS[-1])
    return f"{seconds // size}{letter}"


def _read(at: str) -> datetime | None:
    try:
        read = datetime.fromisoformat(at)
    except ValueError:
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)
