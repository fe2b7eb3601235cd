"""Pages of lists, by one rule: `limit` items after `cursor`, and `next`, the cursor that follows.

Here are the lists that a service returns whole. Those that grow without end (sandboxes, events,
audit entries, deliveries) are paged by the store itself, with parameters of the same names.
`at_most` declares what needs no page, since it never has more than so many items.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends, Query

from atoll.domain.errors import Invalid
from atoll.surfaces.http.body.fields import ResponseModel

MAX_PAGE: Final = 1000
MAX_ITEMS: Final = "x-max-items"
"""The field of an operation in the OpenAPI document: the most items that its list has."""

_MAX_CURSOR: Final = 1000
T = TypeVar("T")


class PageModel(ResponseModel):
    """A page of a list. `next` is the cursor of the following one, null on the last."""

    next: str | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """The requested page of a list: `limit` items after `cursor`."""

    cursor: str | None
    limit: int

    def of(self, items: Sequence[T], *, name: str, key: Callable[[T], str],
           view: Callable[[T], Any]) -> dict[str, Any]:  # fmt: skip
        """Return the page as an object with the member `name`. Raises `Invalid` for a cursor that
        is none of ours."""
        cut, following = self.cut(items, key)
        return {name: [view(one) for one in cut], "next": following}

    def cut(self, items: Sequence[T], key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
        """Return the items of the page, and the cursor of the following one.

        A page begins after the item that ended the one before, wherever that stands by now. When
        it is gone, it begins where that item stood.
        """
        begin = 0 if self.cursor is None else _place(items, key, *_read(self.cursor))
        end = begin + self.limit
        page = items[begin:end]
        return page, _spelled(end, key(page[-1])) if end < len(items) else None


def at_most(count: int) -> dict[str, int]:
    """Return the `openapi_extra=` of a route whose list never has more items."""
    return {MAX_ITEMS: count}


def _place(items: Sequence[T], key: Callable[[T], str], count: int, last: str) -> int:
    here = (at for at, one in enumerate(items, 1) if key(one) == last)
    return next(here, max(count - 1, 0))


def _spelled(count: int, last: str) -> str:
    return base64.urlsafe_b64encode(f"{count}.{last}".encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[int, str]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    count, dot, last = text.partition(".")
    if not dot or not (count.isascii() and count.isdecimal() and len(count) < 10):
        raise Invalid(
            "the cursor is none of a page: send `next` of the page before", field="cursor"
        )
    return int(count), last


async def _page_of(
    cursor: Annotated[
        str | None,
        Query(description="`next` of the page before.", min_length=1, max_length=_MAX_CURSOR),
    ] = None,
    limit: Annotated[
        int, Query(description="The most items of the page.", ge=1, le=MAX_PAGE)
    ] = MAX_PAGE,
) -> PageRequest:
    return PageRequest(cursor, limit)


Paged = Annotated[PageRequest, Depends(_page_of)]
"""The page that a request names."""
