"""Watches: sessions of clients learn which URIs changed, from the one log.

A change is told by its URI alone. A reader holds a place in the log and no queue, so a slow one
costs no memory. Of a page of the log it receives each changed URI once.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from atoll.domain.errors import Forbidden
from atoll.domain.event import Event, Gap
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.tool.uri import covers, path_of, paths_of
from atoll.domain.tool.watch import Watch, check_number, check_room
from atoll.ports import EventQuery
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.journals.shared_reads import SharedReads
from atoll.services.tools.mcp_sessions import SessionClaims

PAGE = 50
"""Events that are looked at at once: a reader that does not take what they changed holds that."""

Paths = Mapping[str, Sequence[str]]
"""The paths that are watched, by session."""

Watched = Callable[[Paths], Sequence[str]]
"""A function that returns the paths that one reader watches."""


@dataclass(frozen=True, slots=True)
class Change:
    """URIs that changed, each once, and the position in the log up to which they did."""

    uris: tuple[str, ...]
    position: int


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the log with the gap before it, the position to go on from, and what the sessions
    that are followed here watch."""

    events: tuple[Event, ...]
    gap: Gap | None
    position: int
    watches: Paths


class Watches:
    """Use cases on watches. `scheme` begins every URI. Everything raises `Forbidden` without the
    permission to read events."""

    def __init__(self, ground: Ground, events: Events, *, scheme: str) -> None:
        self._ground = ground
        self._events = events
        self.scheme = scheme
        self._followed: Counter[str] = Counter()
        self._looks = SharedReads(self._look)

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
                began = [one.position for one in await rows.watches.of(session.jti)]
                after = min(began, default=await rows.events.last_position())
        self._followed[session.jti] += 1
        try:
            watched = partial(_of, session.jti)
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
        told = 0
        with self._ground.bus.listen() as listener:
            while True:
                query = self._events.query(caller, after=after, limit=PAGE)
                found = await self._looks.of((query, max(after, told)))
                after, gap, last = found.position, found.gap, len(found.events) < PAGE
                seen = (one for one in found.events if self._events.sees(caller, one))
                changed = [path for event in seen for path in paths_of(event)]
                now = watched(found.watches)
                if gap is not None:
                    told = gap.to
                uris = self._uris(now, changed, all_of_them=gap is not None)
                # Nothing of the page is held while its reader takes what it changed.
                del found, seen, changed, now
                if uris:
                    yield Change(uris, after)
                if last:
                    await listener.wait()

    async def _look(self, place: tuple[EventQuery, int]) -> _Page:
        """Return a page for all who stand at this place, and what they watch. That is read after
        the page, so that who began to watch before an event learns of it."""
        query, gap_after = place
        async with self._ground.store.read() as rows:
            page, gap = await self._events.read(rows, query, gap_after)
            wanted = tuple(self._followed) if page or gap is not None else ()
            watches: dict[str, list[str]] = {}
            for one in await rows.watches.among(wanted):
                watches.setdefault(one.session_id, []).append(one.path)
        position = page[-1].position if page else query.after
        return _Page(tuple(page), gap, position, watches)

    def _uris(
        self, watched: Sequence[str], changed: list[str], *, all_of_them: bool
    ) -> tuple[str, ...]:
        """Return the URIs that changed and are watched, after a gap all that are watched."""
        found = dict.fromkeys(watched) if all_of_them else {}
        found |= dict.fromkeys(
            path for path in changed if any(covers(one, path) for one in watched)
        )
        return tuple(f"{self.scheme}://{path}" for path in found)


def check_reader(caller: Principal) -> None:
    """Check that a caller may watch and read what changes. Raises `Forbidden`."""
    if not caller.may(Capability.EVENT_READ):
        raise Forbidden(f"this needs the permission {Capability.EVENT_READ}")


def _of(session_id: str, watches: Paths) -> Sequence[str]:
    return watches.get(session_id, ())
