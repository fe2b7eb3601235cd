"""Watches: sessions of clients learn which URIs changed, from the one log.

A change is told by its URI alone. A reader holds a place in the log and no queue, so a slow one
costs no memory. Of a page of the log it receives each changed URI once. Readers at the same place
share one read; pages are kept for a moment, for those who are a little behind.
"""

from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property, partial

from atoll.domain.errors import Forbidden
from atoll.domain.event import Gap
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.tools.uri import covers_path, path_of, paths_of
from atoll.domain.tools.watch import Watch, check_number, check_room
from atoll.ports import EventQuery
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.journals.shared_reads import Begin, SharedReads
from atoll.services.tools.mcp_sessions import SessionClaims

PAGE = 50
"""Events that are looked at at once: a reader that does not take what they changed holds that."""

KEPT_PAGES = 4
"""Pages of the log that are kept: the readers of a flood are less far apart."""

KEPT_FOR = timedelta(seconds=1)

Paths = Mapping[str, Sequence[str]]
"""The paths that are watched, by session."""

Watched = Callable[[Paths], Sequence[str] | None]
"""A function that returns the paths that one reader watches, None where they are not known."""

_Place = tuple[EventQuery, int]
"""The query of a page, and the position from which a gap is told."""


@dataclass(frozen=True, slots=True)
class Change:
    """URIs that changed, each once, and the position in the log up to which they did."""

    uris: tuple[str, ...]
    position: int


@dataclass(frozen=True, slots=True)
class _Changed:
    """A path that an event changed."""

    position: int
    stream: str
    path: str


@dataclass(frozen=True)
class _Page:
    """A page of the log: what it changed, the gap before it, the position to go on from, and what
    the sessions watch that were followed here when it was read. Of a page that changed nothing,
    that is not known."""

    query: EventQuery
    changed: tuple[_Changed, ...]
    gap: Gap | None
    position: int
    full: bool
    watches: Paths
    read_at: datetime

    @cached_property
    def heads(self) -> frozenset[str]:
        """The first parts of the paths that changed."""
        return frozenset(_head(change.path) for change in self.changed)

    def serves(self, query: EventQuery, watched: Watched) -> bool:
        """Report whether it has what follows the position of a query, and what its reader
        watches."""
        return (
            self.query.after <= query.after < self.position
            and replace(self.query, after=query.after) == query
            and (not self.changed or watched(self.watches) is not None)
        )


class Watches:
    """Use cases on watches. `scheme` begins every URI. Everything raises `Forbidden` without the
    permission to read events."""

    def __init__(self, ground: Ground, events: Events, *, scheme: str) -> None:
        self._ground = ground
        self._events = events
        self.scheme = scheme
        self._followed: Counter[str] = Counter()
        self._looks = SharedReads(self._look)
        self._kept: deque[_Page] = deque(maxlen=KEPT_PAGES)

    def check(self, caller: Principal, uris: Collection[str]) -> None:
        """Check that a caller may watch these. Raises `Forbidden`, `Invalid`, `LimitReached`."""
        check_reader(caller)
        check_number(len(uris))
        for uri in uris:
            path_of(uri, self.scheme)

    async def begin(self, caller: Principal, session: SessionClaims, uri: str) -> None:
        """Watch a URI or a pattern. Raises `Invalid`, and `LimitReached` when a session watches
        too many."""
        check_reader(caller)
        path = path_of(uri, self.scheme)
        async with self._ground.store.begin() as rows:
            await rows.watches.forget(self._ground.clock.now())
            check_room(len(await rows.watches.of(session.jti)))
            position = await rows.events.last_position()
            await rows.watches.put(Watch(session.jti, path, position, session.ends_at))

    async def end(self, caller: Principal, session: SessionClaims, uri: str) -> None:
        """Watch a URI no longer. Raises `Invalid`."""
        check_reader(caller)
        path = path_of(uri, self.scheme)
        async with self._ground.store.begin() as rows:
            await rows.watches.remove(session.jti, path)

    async def follow_session(
        self, caller: Principal, session: SessionClaims, *, after: int | None
    ) -> AsyncIterator[Change]:
        """Yield what changes of what a session watches, from a position on, or from when its first
        watch began. Never returns."""
        check_reader(caller)

        if after is None:
            async with self._ground.store.read() as rows:
                began = [watch.position for watch in await rows.watches.of(session.jti)]
                after = min(began, default=await rows.events.last_position())
        self._followed[session.jti] += 1
        try:
            watched = partial(_paths_of, session.jti)
            async for change in self._follow(caller, watched, after=after):
                yield change
        finally:
            self._followed -= Counter((session.jti,))

    async def follow_uris(
        self, caller: Principal, uris: Iterable[str], *, after: int
    ) -> AsyncIterator[Change]:
        """Yield what changes of these URIs and patterns after a position. Never returns. Raises
        `Invalid`."""
        check_reader(caller)
        paths = [path_of(uri, self.scheme) for uri in uris]

        async for change in self._follow(caller, lambda _: paths, after=after):
            yield change

    async def _follow(
        self, caller: Principal, watched: Watched, *, after: int
    ) -> AsyncIterator[Change]:
        gap_end = 0
        with self._ground.bus.listen() as listener:
            while True:
                query = self._events.query(caller, after=after, limit=PAGE)
                page = self._kept_page(query, watched)
                # What came since it was read lies behind a kept page.
                more = page is not None
                if page is None:
                    page = await self._looks.of((query, max(after, gap_end)))
                    more = page.full
                if page.gap is not None:
                    gap_end = page.gap.to
                uris = self._uris(caller, page, watched(page.watches) or (), after=after)
                after = page.position
                # Nothing of the page is held while its reader takes what it changed.
                del page
                if uris:
                    yield Change(uris, after)
                if not more:
                    await listener.wait()

    def _kept_page(self, query: EventQuery, watched: Watched) -> _Page | None:
        oldest = self._ground.clock.now() - KEPT_FOR
        while self._kept and self._kept[0].read_at < oldest:
            self._kept.popleft()
        return next((page for page in self._kept if page.serves(query, watched)), None)

    async def _look(self, place: _Place, begin: Begin) -> _Page:
        """Return a page for all who stand at this place, and what they watch. That is read after
        the page, so that who began to watch before an event learns of it."""
        query, gap_after = place
        async with self._ground.store.read() as rows:
            begin()
            now = self._ground.clock.now()
            events, gap = await self._events.read(rows, query, gap_after)
            changed = tuple(
                _Changed(event.position, event.stream, path)
                for event in events
                for path in paths_of(event)
            )
            wanted = tuple(self._followed) if changed or gap is not None else ()
            paths: dict[str, list[str]] = {watch: [] for watch in wanted}
            for watch in await rows.watches.among(wanted):
                paths[watch.session_id].append(watch.path)
        # Pages that are kept hold the same ones once.
        watches = next((page.watches for page in self._kept if page.watches == paths), paths)
        position = events[-1].position if events else query.after
        if gap is not None and gap.set_back:
            position = gap.to
        page = _Page(query, changed, gap, position, len(events) >= PAGE, watches, now)
        if events and gap is None and gap_after == query.after:
            self._kept.append(page)
        return page

    def _uris(
        self, caller: Principal, page: _Page, watched: Sequence[str], *, after: int
    ) -> tuple[str, ...]:
        """Return the URIs that changed after a position and are watched, after a gap all that are
        watched."""
        paths = {} if page.gap is None else dict.fromkeys(watched)
        # Most readers of a flood watch nothing of it.
        if not page.heads.isdisjoint(map(_head, watched)):
            paths |= dict.fromkeys(
                change.path
                for change in page.changed
                if change.position > after
                and any(covers_path(pattern, change.path) for pattern in watched)
                and self._events.sees(caller, change.stream)
            )
        return tuple(f"{self.scheme}://{path}" for path in paths)


def check_reader(caller: Principal) -> None:
    """Check that a caller may watch and read what changes. Raises `Forbidden`."""
    if not caller.may(Capability.EVENT_READ):
        raise Forbidden(f"this needs the permission {Capability.EVENT_READ}")


def _paths_of(session_id: str, watches: Paths) -> Sequence[str] | None:
    """Return the paths that a session watches, None when it watches none."""
    return watches.get(session_id)


def _head(path: str) -> str:
    return path.partition("/")[0]
