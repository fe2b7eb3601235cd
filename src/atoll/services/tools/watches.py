"""Watches: sessions of clients learn which URIs changed, from the one log.

A change is told by its URI alone. A reader holds a place in the log and no queue, so a slow one
costs no memory. Of a page of the log it receives each changed URI once.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass

from atoll.domain.errors import Forbidden
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.tool.uri import covers, path_of, paths_of
from atoll.domain.tool.watch import Watch, check_number, check_room
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.tools.mcp_sessions import SessionClaims

PAGE = 50
"""Events that are looked at at once: a reader that does not take what they changed holds that."""

Watched = Callable[[], Awaitable[Iterable[str]]]
"""A function that returns the paths that are watched now."""


@dataclass(frozen=True, slots=True)
class Change:
    """URIs that changed, each once, and the position in the log up to which they did."""

    uris: tuple[str, ...]
    position: int


class Watches:
    """Use cases on watches. `scheme` begins every URI. Everything raises `Forbidden` without the
    permission to read events."""

    def __init__(self, ground: Ground, events: Events, *, scheme: str) -> None:
        self._ground = ground
        self._events = events
        self.scheme = scheme

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

        async def watched() -> list[str]:
            async with self._ground.store.read() as rows:
                return [one.path for one in await rows.watches.of(session.jti)]

        if after is None:
            async with self._ground.store.read() as rows:
                began = [one.position for one in await rows.watches.of(session.jti)]
                after = min(began, default=await rows.events.last_position())
        async for change in self._follow(caller, watched, after=after):
            yield change

    async def follow_uris(
        self, caller: Principal, uris: Iterable[str], *, after: int
    ) -> AsyncIterator[Change]:
        """Yield what changes of these URIs and patterns after a position. Never returns. Raises
        `Invalid`."""
        check_reader(caller)
        paths = [path_of(uri, self.scheme) for uri in uris]

        async def watched() -> list[str]:
            return paths

        async for change in self._follow(caller, watched, after=after):
            yield change

    async def _follow(
        self, caller: Principal, watched: Watched, *, after: int
    ) -> AsyncIterator[Change]:
        told = 0
        with self._ground.bus.listen() as listener:
            while True:
                page = await self._events.look(caller, after=after, told=told, limit=PAGE)
                after, last, gap = page.position, page.last, page.gap
                changed = [path for event in page.events for path in paths_of(event)]
                # Nothing of the page is held while its reader takes what it changed.
                del page
                if gap is not None:
                    told = gap.to
                # Read after the page, so that who began to watch before an event learns of it.
                now = list(await watched()) if changed or gap is not None else []
                uris = self._uris(now, changed, all_of_them=gap is not None)
                if uris:
                    yield Change(uris, after)
                if last:
                    await listener.wait()

    def _uris(
        self, watched: list[str], changed: list[str], *, all_of_them: bool
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
