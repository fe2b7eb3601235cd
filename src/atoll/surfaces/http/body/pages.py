"""Pages of lists, by one rule: `limit` items after `cursor`, and `next`, the cursor that follows.

A cursor is good for the list that gave it out, and refused by every other.

Lists that grow with use are paged by the store (`rows` and `rows_and_next` of `PageRequest`). Those
that stay small, that are files, or whose order is computed, a service returns whole
(`items_and_next`).
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final, TypeVar

from atoll.domain.errors import Invalid
from atoll.domain.paging import PageQuery, RowPage

MAX_ITEMS: Final = "x-max-items"
"""The field of an operation in the OpenAPI document: the most items that its list has."""

_COUNT_DIGITS: Final = 9
_MOMENT_DIGITS: Final = 17
"""The digits of microseconds since 1970, until the year 5138: a moment of every database."""

_LIST_ID_DIGITS: Final = 8
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
T = TypeVar("T")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a list: `limit` items after `cursor`. `list_id` tells the list from
    every other."""

    cursor: str | None
    limit: int
    list_id: str = ""

    def rows(self) -> PageQuery:
        """Return the page for the store. Raises `Invalid` for a cursor that is none of ours."""
        if self.cursor is None:
            return PageQuery(self.limit)
        microseconds, text = self._read(self.cursor, _MOMENT_DIGITS)
        return PageQuery(self.limit, (_EPOCH + microseconds * _MICROSECOND, text))

    def cut(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """Return the items of the page, and the cursor of the following one.

        A page begins after the item that ended the one before, wherever that stands by now. When
        it is gone, it begins where that item stood.
        """
        begin = 0
        if self.cursor is not None:
            begin = _place(items, key, *self._read(self.cursor, _COUNT_DIGITS))
        end = begin + self.limit
        page = items[begin:end]
        return page, self._spell(end, key(page[-1])) if end < len(items) else None

    def items_and_next(
        self, items: Sequence[T], *, key: Callable[[T], str], view: Callable[[T], V]
    ) -> tuple[list[V], str | None]:
        """Return the items of the page as answers, and the cursor of the following one."""
        cut, following = self.cut(items, key)
        return [view(one) for one in cut], following

    def rows_and_next(self, page: RowPage[T], view: Callable[[T], V]) -> tuple[list[V], str | None]:
        """Return the rows of a page of the store as answers, and the cursor of the following
        one."""
        return [view(one) for one in page.rows], self._following(page)

    def _following(self, page: RowPage[T]) -> str | None:
        if page.following is None:
            return None
        at, text = page.following
        return self._spell((at - _EPOCH) // _MICROSECOND, text)

    def _spell(self, count: int, last: str) -> str:
        text = f"{count}.{self.list_id}.{last}"
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    def _read(self, cursor: str, digits: int) -> tuple[int, str]:
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            text = base64.b64decode(padded, b"-_", validate=True).decode()
        except (binascii.Error, ValueError):
            text = ""
        count, _, rest = text.partition(".")
        list_id, dot, last = rest.partition(".")
        number = count.isascii() and count.isdecimal() and len(count) <= digits
        # PostgreSQL takes no NUL, and no place of ours has a character that cannot be printed.
        if not dot or not number or not last.isprintable() or list_id != self.list_id:
            raise Invalid(
                "the cursor is none of a page of this list: send `next` of the page before, or "
                "begin without one",
                field="cursor",
            )
        return int(count), last


def _place(items: Sequence[T], key: Callable[[T], str], count: int, last: str) -> int:
    here = (at for at, one in enumerate(items, 1) if key(one) == last)
    return next(here, max(count - 1, 0))


def list_id(name: str, named: Sequence[tuple[str, Any]]) -> str:
    """Return a short text that no other list has: its name, and what the path names. The same list
    has several paths where a contract wants that."""
    return sha256(f"{name} {named}".encode()).hexdigest()[:_LIST_ID_DIGITS]
