"""Ends of containers: the daemon's reason of each, kept after the container's removal."""

import asyncio
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field

from atoll.adapters.extensions.docker.containers import Containers
from atoll.adapters.extensions.docker.engine import ContainerState
from atoll.domain.errors import AtollError

MOST_KEPT = 1024
SOON_SECONDS = 1.0
"""The time in which a daemon learns that the init of a container is gone."""

OUT_OF_MEMORY = "it ran out of memory"
REMOVED = "its container was removed"


@dataclass(frozen=True, slots=True)
class ContainerEnds:
    """The ends of containers that a survey removed or did not find, by sandbox."""

    containers: Containers
    _known: OrderedDict[str, str] = field(default_factory=OrderedDict)

    async def settle(self, sandbox_id: str, container: str) -> str:
        """Return how a container ended whose init is gone, as soon as the daemon knows; empty where
        it does not. Raises what `Containers` raises."""
        inspection = await self.containers.inspect(container)
        if inspection is not None and not how_ended(inspection.state):
            with suppress(TimeoutError):
                async with asyncio.timeout(SOON_SECONDS):
                    await self.containers.end_of(container)
            inspection = await self.containers.inspect(container)
        return (
            self._known.get(sandbox_id, REMOVED)
            if inspection is None
            else how_ended(inspection.state)
        )

    async def note(self, sandbox_id: str, container: str) -> None:
        """Keep how a container ended, before it is removed. Raises nothing."""
        with suppress(AtollError):
            inspection = await self.containers.inspect(container)
            if inspection is not None and (how := how_ended(inspection.state)):
                self._keep(sandbox_id, how)

    def note_removed(self, sandbox_id: str) -> None:
        """Keep that a sandbox which ended has no container any more, unless its end is known."""
        if sandbox_id not in self._known:
            self._keep(sandbox_id, REMOVED)

    def forget(self, sandbox_id: str) -> None:
        """Forget an end: the sandbox is started again."""
        self._known.pop(sandbox_id, None)

    def of(self, sandbox_id: str) -> str:
        """Return how a sandbox's container ended; empty where that is not known."""
        return self._known.get(sandbox_id, "")

    def _keep(self, sandbox_id: str, how: str) -> None:
        self._known[sandbox_id] = how
        if len(self._known) > MOST_KEPT:
            self._known.popitem(last=False)


def how_ended(state: ContainerState) -> str:
    """Return how a container ended; empty for one that runs."""
    if state.o_o_m_killed:
        return OUT_OF_MEMORY
    if state.status not in ("exited", "dead"):
        return ""
    return state.error or f"its container ended with status {state.exit_code}"
