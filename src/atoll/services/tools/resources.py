"""Resources: what a URI names, as the log says it is.

A URI is read as its last event; a pattern as the URIs that changed lately, the last one first.
"""

from dataclasses import dataclass

from atoll.domain.errors import NotFound
from atoll.domain.event import Event
from atoll.domain.people.principal import Principal
from atoll.domain.tools.uri import covers_path, is_pattern, path_of, paths_of
from atoll.services.journals.events import MAX_LIMIT, Events
from atoll.services.tools.watches import check_reader

MAX_LISTED = 100
"""The URIs of one list."""


@dataclass(frozen=True, slots=True)
class Resource:
    """A URI and the last event that changed it."""

    uri: str
    event: Event


class Resources:
    """Use cases on what URIs name. `scheme` begins every one."""

    def __init__(self, events: Events, *, scheme: str) -> None:
        self._events = events
        self.scheme = scheme

    async def read(self, caller: Principal, uri: str) -> list[Resource]:
        """Return what a URI names, or what a pattern stands for, the last changed one first. Raises
        `Forbidden`, `Invalid`, and `NotFound` for one that nothing is known of."""
        path = path_of(uri, self.scheme)
        resources = await self._among_latest(caller, path)
        if not resources and not is_pattern(path):
            raise NotFound(f"nothing is known of {uri[:100]!r}: it never changed, or long ago")
        return resources

    async def all(self, caller: Principal) -> list[Resource]:
        """Return what changed lately, the last changed one first. Raises `Forbidden`."""
        return await self._among_latest(caller, None)

    async def _among_latest(self, caller: Principal, path: str | None) -> list[Resource]:
        check_reader(caller)
        events: dict[str, Event] = {}
        latest = await self._events.list(caller, limit=MAX_LIMIT, latest=True)
        for event in reversed(latest):
            for changed_path in paths_of(event):
                if (
                    path is None
                    or changed_path == path
                    or (is_pattern(path) and covers_path(path, changed_path))
                ):
                    events.setdefault(changed_path, event)
        listed = list(events.items())[:MAX_LISTED]
        return [
            Resource(f"{self.scheme}://{changed_path}", event) for changed_path, event in listed
        ]
