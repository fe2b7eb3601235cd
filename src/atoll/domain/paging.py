"""Pages of lists by keyset: a page begins after the place where the one before ended. Pure.

A place is found along an index, however many rows precede it, and stays one when its row is gone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

T = TypeVar("T")

Place = tuple[datetime, str]
"""A place in an order by moment, then by a text of the row: its id, where it has one."""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """At most `limit` rows after a place, from the first where `after` is None."""

    limit: int
    after: Place | None = None


@dataclass(frozen=True, slots=True)
class RowPage(Generic[T]):
    """The rows of a page. `following` is the place that the next page is after, None on the
    last."""

    rows: Sequence[T]
    following: Place | None = None


def cut_page(found: Sequence[T], limit: int, place: Callable[[T], Place]) -> RowPage[T]:
    """Return the page of `found`, of which one row more than `limit` was read."""
    shown = found[:limit]
    return RowPage(shown, place(shown[-1]) if len(found) > len(shown) else None)
