"""Rows of the event log, and the query for a page of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.event import Event, EventDraft, Gap
from atoll.domain.event_retention import Removal, StreamSpan
from atoll.domain.ids import OrgId, PrincipalId


@dataclass(frozen=True, slots=True)
class EventQuery:
    """Events of one owner in an organization after a position, oldest first: the first `limit`
    of them, or with `latest` the last. In a `team` also those of the organization itself, and of
    the sandboxes that others share in it; for the owner `EVERY_MEMBER` these alone. With `kinds` a
    page has those alone; what was removed is told of all."""

    org_id: OrgId
    owner: PrincipalId
    stream: str | None = None
    after: int = 0
    limit: int = 100
    latest: bool = False
    team: bool = False
    kinds: frozenset[str] | None = None


class EventRows(Protocol):
    """The rows of the event log."""

    async def append(self, drafts: Sequence[EventDraft]) -> list[Event]:
        """Number and append, in order. Raises `ValueError` for an unknown kind or payload."""
        ...

    async def page(self, query: EventQuery) -> list[Event]:
        """Return one page of events."""
        ...

    async def after(
        self, position: int, limit: int, *, kinds: frozenset[str] | None = None
    ) -> list[Event]:
        """Return the first events of everybody after a position, in order, of these `kinds` alone
        where there are some. For the installation itself, which judges no caller."""
        ...

    async def last_position(self) -> int:
        """Return the newest position, 0 for an empty log."""
        ...

    async def gap(self, query: EventQuery) -> Gap | None:
        """Return the removed part of the events that the query selects, whatever its `limit`; None
        when all are there. Asked after `page`, it covers removals in between. A position beyond
        the end of the log has a gap that is `set_back`, to that end."""
        ...

    async def give(self, stream: str, before: PrincipalId, after: PrincipalId) -> None:
        """Make the events of a stream that were one owner's another's, the removed ones, too."""
        ...

    async def next_stream(self, after: str) -> StreamSpan | None:
        """Return the first stream of any owner whose name is greater than `after`; None after the
        last."""
        ...

    async def remove(self, removal: Removal) -> int:
        """Remove events and return their number. Fewer than `limit` means that no more are due."""
        ...
