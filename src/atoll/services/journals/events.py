"""Events: the log as people and programs read it.

`follow` gives every event after a position exactly once, however often the reader comes
back with the last position it saw. A reader that comes back for events that are no longer kept is
told so by a `Gap`, never by silence.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import structlog

from atoll.domain.errors import NotFound, Unavailable
from atoll.domain.event import Event, EventDraft, Gap, Json, sandbox_stream
from atoll.domain.ids import EventId, OrgId
from atoll.domain.people.bearer import EVERYTHING
from atoll.domain.people.principal import Principal
from atoll.domain.stream import check_stream
from atoll.ports import Bus, Clock, EventQuery, Store, Transaction
from atoll.services.identifiers import Identifiers
from atoll.services.journals.shared_reads import Begin, SharedReads
from atoll.services.webhooks.named_streams import check_named_streams

FOLLOW_PAGE = 200
"""Events that a follower reads at once, its bound on memory."""

MAX_LIMIT = 1000
AFTER_FAILURE = timedelta(seconds=5)

_log = structlog.get_logger(__name__)

FRESH_SECONDS = 2.0
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Note:
    """A fact to be logged that is no transition of a sandbox."""

    stream: str
    event_type: str
    payload: Mapping[str, Json]
    reason: str | None = None


class Events:
    """The log of the caller's organization."""

    def __init__(self, store: Store, bus: Bus, *, clock: Clock, identifiers: Identifiers) -> None:
        self._store = store
        self._bus = bus
        self._clock = clock
        self._identifiers = identifiers
        self._teams: dict[OrgId, datetime | None] = {}
        self._looks = SharedReads(self._look)

    async def _page(self, query: EventQuery) -> list[Event]:
        async with self._store.read() as rows:
            team = await self._in_team(rows, query.org_id)
            return await rows.events.page(replace(query, team=team))

    async def _gap(self, query: EventQuery) -> Gap | None:
        async with self._store.read() as rows:
            team = await self._in_team(rows, query.org_id)
            return await rows.events.gap(replace(query, team=team))

    async def _look(
        self, place: tuple[EventQuery, int], begin: Begin
    ) -> tuple[list[Event], Gap | None]:
        """Return a follower's next page, and the gap before it from a position on."""
        async with self._store.read() as rows:
            begin()
            return await self.read(rows, *place)

    async def read(
        self, rows: Transaction, query: EventQuery, gap_after: int
    ) -> tuple[list[Event], Gap | None]:
        """Return the page of a query, and the gap before it from a position on."""
        asked = replace(query, team=await self._in_team(rows, query.org_id))
        page = await rows.events.page(asked)
        # After the page: what was removed in between is told of, and never missed.
        return page, await rows.events.gap(replace(asked, after=gap_after))

    async def list(
        self,
        caller: Principal,
        *,
        stream: str | None = None,
        after: int = 0,
        limit: int = 100,
        latest: bool = False,
    ) -> list[Event]:
        """Return at most 1000 events after a position, oldest first: the first ones, or the
        `latest`. Raises `NotFound` for a stream that the caller's token does not name."""
        streams = _find_readable_streams(caller, stream)
        if streams is not None and len(streams) == 1:
            # Asked for alone: what it may not read takes no place on the page.
            (stream,) = streams
        bound = max(1, min(limit, MAX_LIMIT))
        query = EventQuery(caller.org_id, caller.id, stream, after, bound, latest)
        events = await self._page(query)
        return [event for event in events if streams is None or event.stream in streams]

    async def gap(
        self, caller: Principal, *, stream: str | None = None, after: int = 0
    ) -> Gap | None:
        """Return the gap of events after a position that are no longer kept. Call it after
        `list`."""
        return await self._gap(EventQuery(caller.org_id, caller.id, stream, after))

    def query(self, caller: Principal, *, after: int, limit: int) -> EventQuery:
        """Return the query for a page of what a caller may read. A token of several streams reads
        more than `sees` lets through."""
        streams = _find_readable_streams(caller, None)
        stream = next(iter(streams)) if streams is not None and len(streams) == 1 else None
        return EventQuery(caller.org_id, caller.id, stream, after, limit)

    def sees(self, caller: Principal, stream: str) -> bool:
        """Report whether a caller's token lets them read events of a stream of their page."""
        streams = _find_readable_streams(caller, None)
        return streams is None or stream in streams

    async def check_stream(
        self, caller: Principal, stream: str | None, *, field: str = "stream"
    ) -> None:
        """Check a stream that a reader names. Raises `NotFound` when the caller's token does not
        name it, `Invalid` for one of a thing that is not there for the caller."""
        _find_readable_streams(caller, stream)
        if stream is None:
            return
        async with self._store.read() as rows:
            team = await self._in_team(rows, caller.org_id)
            query = EventQuery(caller.org_id, caller.id, team=team)
            await check_named_streams(rows, query, (stream,), field=field)

    async def last_position(self) -> int:
        """Return the newest position, from which a reader receives only new events."""
        async with self._store.read() as rows:
            return await rows.events.last_position()

    async def follow(
        self, caller: Principal, *, after: int = 0, stream: str | None = None
    ) -> AsyncIterator[Event | Gap]:
        """Yield every event after `after`, then new ones as they come. A gap is yielded before the
        page that it affects; after one that is `set_back` comes what follows the end of the log.
        Never returns. Raises `NotFound` for a stream that the caller's token does not name."""
        gap_end, streams = 0, _find_readable_streams(caller, stream)
        with self._bus.listen(stream) as listener:
            while True:
                query = EventQuery(caller.org_id, caller.id, stream, after, FOLLOW_PAGE)
                page, gap = await self._looks.of((query, max(after, gap_end)))
                if gap is not None:
                    gap_end = gap.to
                    after = min(after, gap_end) if gap.set_back else after
                    yield gap
                for event in page:
                    if streams is None or event.stream in streams:
                        yield event
                    after = event.position
                if len(page) < FOLLOW_PAGE:
                    await listener.wait()

    async def appended(
        self, caller: Principal, *, started: asyncio.Event | None = None
    ) -> AsyncIterator[Event]:
        """Yield each event that is appended from now on, which is when `started` is set. While the
        log cannot be read it is tried again: a follower inside the server never ends it. Never
        returns."""
        after: int | None = None
        while True:
            try:
                if after is None:
                    after = await self.last_position()
                    if started is not None:
                        started.set()
                async for event in self.follow(caller, after=after):
                    if isinstance(event, Event):
                        after = event.position
                        yield event
            except Unavailable as error:
                _log.warning("events_not_read", reason=error.message)
                await self._clock.sleep_until(self._clock.now() + AFTER_FAILURE)

    async def record(self, caller: Principal, note: Note) -> Event:
        """Append one event. Raises `ValueError` for a kind the log does not know."""
        draft = draft_of(note, caller, at=self._clock.now(), event_id=self._identifiers.event())
        async with self._store.begin() as rows:
            (event,) = await rows.events.append((draft,))
        self._bus.announce((note.stream,))
        return event

    def note_team(self, org_id: OrgId) -> None:
        """Note that an organization became a team here."""
        self._teams[org_id] = None

    async def _in_team(self, rows: Transaction, org_id: OrgId) -> bool:
        """Report whether an organization has other members. A team stays one; that there
        is none is believed for a moment, so that a single person's log costs no further look."""
        now, seen = self._clock.now(), self._teams.get(org_id, _NEVER)
        if seen is None or now - seen <= timedelta(seconds=FRESH_SECONDS):
            return seen is None
        team = await rows.organizations.get(org_id) is not None
        self._teams[org_id] = None if team else now
        return team


def _find_readable_streams(caller: Principal, stream: str | None) -> frozenset[str] | None:
    """Return the streams that the caller's token lets them read, None for all of theirs. Raises
    `NotFound` when `stream` is none of them, `Invalid` for a name that no stream has."""
    if stream is not None:
        check_stream(stream)
    access = caller.token
    if access is None or (access.sandbox_id is None and not access.subscribed):
        return None
    inside = None if access.sandbox_id is None else sandbox_stream(access.sandbox_id)
    streams = frozenset(access.streams if inside is None else (inside,))
    if EVERYTHING in streams:
        return None
    if stream is not None and stream not in streams:
        raise NotFound(f"This token names no stream {stream[:80]!r}.")
    return streams


def draft_of(note: Note, caller: Principal, *, at: datetime, event_id: EventId) -> EventDraft:
    """Return the event for a note, with `caller` as its actor and owner."""
    return EventDraft(
        id=event_id,
        stream=note.stream,
        event_type=note.event_type,
        at=at,
        org_id=caller.org_id,
        owner=caller.id,
        actor=caller,
        reason=note.reason,
        payload=note.payload,
    )
