"""Strays: machines that are still rented from a vendor, though their sandbox is gone.

Each has a deadline at its vendor, so a stray costs minutes at most. This ends it now.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId
from atoll.ports import Extension
from atoll.ports.extension import RentedPlace, Rents
from atoll.services.ground import Ground
from atoll.wire.words.hosts import MAX_STRAYS
from atoll.wire.words.sandboxes import State

AT_ONCE = 8

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StrayList:
    """Strays by extension, at most `MAX_STRAYS` of `count`, and what could not be looked at."""

    strays: tuple[tuple[str, RentedPlace], ...]
    count: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reaped:
    """The number of strays that were ended, and a sentence for each problem."""

    ended: int
    problems: tuple[str, ...]


class Strays:
    """The strays of every extension that rents machines."""

    def __init__(self, ground: Ground, extensions: Mapping[str, Extension]) -> None:
        self._ground = ground
        self._extensions = extensions

    async def listed(self) -> StrayList:
        """Return the strays there are now."""
        strays, problems = await self._list_places()
        shown = tuple((extension.name, place) for extension, place in strays[:MAX_STRAYS])
        return StrayList(shown, len(strays), tuple(problems))

    async def end(self) -> Reaped:
        """End every stray. One that cannot be ended is told, and ends by its deadline."""
        strays, problems = await self._list_places()
        room = asyncio.Semaphore(AT_ONCE)

        async def end_place(extension: Rents, place: RentedPlace) -> bool:
            async with room:
                try:
                    return await extension.end_rented(place)
                except AtollError as error:
                    problems.append(error.message)
                    return False

        done = await asyncio.gather(*(end_place(extension, place) for extension, place in strays))
        _log.info("strays_ended", ended=sum(done), of=len(strays))
        return Reaped(sum(done), tuple(dict.fromkeys(problems))[:MAX_STRAYS])

    async def _list_places(self) -> tuple[list[tuple[Rents, RentedPlace]], list[str]]:
        strays: list[tuple[Rents, RentedPlace]] = []
        problems: list[str] = []
        for extension in self._renting():
            try:
                places = await extension.rented()
            except AtollError as error:
                problems.append(f"{extension.name}: {error.message}")
                continue
            used = await self._find_used_sandboxes(places)
            strays += [(extension, place) for place in places if place.sandbox_id not in used]
        return strays, problems

    def _renting(self) -> list[Rents]:
        named = {extension.name: extension for extension in self._extensions.values()}
        return [extension for _, extension in sorted(named.items()) if isinstance(extension, Rents)]

    async def _find_used_sandboxes(self, places: Iterable[RentedPlace]) -> set[SandboxId]:
        """Return the sandboxes that may still need their machine: all that are not destroyed."""
        used: set[SandboxId] = set()
        async with self._ground.store.read() as rows:
            for sandbox_id in {place.sandbox_id for place in places}:
                sandbox = await rows.sandboxes.get(sandbox_id)
                if sandbox is not None and sandbox.state is not State.DESTROYED:
                    used.add(sandbox_id)
        return used
