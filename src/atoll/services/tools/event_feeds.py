"""Feeds of occurrences: subscriptions of the Events extension of MCP read the one log.

A reader is a cursor, which is a place in the log, and no queue: what it missed is read again when
it comes back, and a slow one costs no memory. Each sees what its caller may see at that moment.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from atoll.domain.errors import LimitReached
from atoll.domain.event import Event
from atoll.domain.people.principal import Principal
from atoll.domain.tool.occurrence import Wanted
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.tools.tool_calls import who_calls
from atoll.services.tools.watches import check_reader

PAGE = 200
"""Events of the log that are looked at at once."""

MAX_PAGES = 10
"""Pages of the log that one batch looks at, however rare its kind is."""

MAX_BATCH = 50
MAX_BATCH_BYTES = 256 * 1024
"""The bounds of a batch; one event always has room."""

MAX_STREAMS = 100
"""Streams that one caller has open at a replica."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that a subscription asked for, in the order of the log. `position` is the place up to
    which the log was looked at. `truncated`: some before it may be missing. `more`: there may be
    further ones now."""

    events: tuple[Event, ...]
    position: int
    truncated: bool
    more: bool


@dataclass(slots=True)
class _Gathered:
    """A batch in the making."""

    events: list[Event]
    position: int
    size: int = 0
    skipped: bool = False


class EventFeeds:
    """Use cases of readers by a cursor. Everything raises `Forbidden` without the permission to
    read events, and `NotFound` for a stream that the caller's token does not name."""

    def __init__(self, ground: Ground, events: Events, *, scheme: str) -> None:
        self._ground = ground
        self._events = events
        self._open: Counter[str] = Counter()
        self.scheme = scheme

    async def batch(
        self,
        caller: Principal,
        wanted: Wanted,
        *,
        after: int | None,
        limit: int = MAX_BATCH,
        max_age: timedelta | None = None,
    ) -> Batch:
        """Return what follows a position; nothing for None, which begins now. Events that are older
        than `max_age` are left out. Raises `Invalid` for a stream of nothing."""
        await self.check(caller, wanted)
        floor = None if max_age is None else self._ground.clock.now() - max_age
        return await self._read(caller, wanted, after, limit=limit, floor=floor)

    async def _read(
        self,
        caller: Principal,
        wanted: Wanted,
        after: int | None,
        *,
        limit: int = MAX_BATCH,
        floor: datetime | None = None,
    ) -> Batch:
        """Return what follows a position of a stream that was checked."""
        newest = await self._events.last_position()
        if after is None or after > newest:
            # A place that the log does not have: it was set back, or the cursor is made up.
            return Batch((), newest, after is not None, False)
        found, full = _Gathered([], after), True
        for _ in range(MAX_PAGES):
            page = await self._events.list(
                caller, stream=wanted.stream, after=found.position, limit=PAGE
            )
            taken = _gather(found, page, wanted, floor=floor, limit=limit)
            full = taken < len(page) or len(page) == PAGE
            if taken < len(page) or not full:
                break
        # After the pages: what was removed in between is told of, and never missed.
        gap = await self._events.gap(caller, stream=wanted.stream, after=after)
        if gap is not None and not full:
            # What came since the pages began lies after the newest position of then.
            found.position = max(found.position, min(gap.to, newest))
        truncated = found.skipped or gap is not None
        return Batch(tuple(found.events), found.position, truncated, full)

    async def check(self, caller: Principal, wanted: Wanted) -> None:
        """Check the stream that a subscription names. Raises `Invalid` for one of nothing."""
        check_reader(caller)
        await self._events.check_stream(caller, wanted.stream, field="arguments")

    async def follow(
        self,
        caller: Principal,
        wanted: Wanted,
        *,
        after: int | None,
        max_age: timedelta | None = None,
        beat_seconds: float,
    ) -> AsyncIterator[Batch]:
        """Yield a first batch, then each that is not empty, and an empty one at intervals when
        there is none. Never returns. Raises `LimitReached` for one stream too many, `Invalid` for
        a stream of nothing."""
        check_reader(caller)
        with self._counted(caller), self._ground.bus.listen(wanted.stream) as listener:
            found = await self.batch(caller, wanted, after=after, max_age=max_age)
            yield found
            while True:
                quiet = False
                if not found.more:
                    try:
                        async with asyncio.timeout(beat_seconds):
                            await listener.wait()
                    except TimeoutError:
                        quiet = True
                found = await self._read(caller, wanted, found.position)
                if found.events or found.truncated or quiet:
                    yield found

    @contextmanager
    def _counted(self, caller: Principal) -> Iterator[None]:
        who = who_calls(caller)
        if self._open[who] >= MAX_STREAMS:
            raise LimitReached(f"{MAX_STREAMS} streams are open already: close one of them")
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            if not self._open[who]:
                del self._open[who]


def _gather(
    found: _Gathered, page: list[Event], wanted: Wanted, *, floor: datetime | None, limit: int
) -> int:
    """Take the events of a page that are wanted, as far as there is room. Returns how many events
    of the page were looked at."""
    for number, event in enumerate(page):
        if wanted.covers(event):
            if floor is not None and event.at < floor:
                found.skipped = True
            else:
                size = len(msgspec.json.encode(event.payload))
                if len(found.events) >= limit or (
                    found.events and found.size + size > MAX_BATCH_BYTES
                ):
                    return number
                found.events.append(event)
                found.size += size
        found.position = event.position
    return len(page)
