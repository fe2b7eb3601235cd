"""Deadlines: one alarm clock for all sandboxes.

Holds the next moment each sandbox is worth a look at and calls out when it comes; what
happens then is `domain.sandboxes.lifecycle`'s business.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime

from atoll.domain.ids import SandboxId
from atoll.ports import Clock


class Deadlines:
    """At most one moment per sandbox; the newest word counts."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._moments: dict[SandboxId, datetime] = {}
        self._changed = asyncio.Event()

    def set(self, sandbox_id: SandboxId, at: datetime | None) -> None:
        """Look at it then, or never."""
        if at is None:
            self._moments.pop(sandbox_id, None)
        else:
            self._moments[sandbox_id] = at
            self._changed.set()

    async def run(self, call: Callable[[SandboxId], None]) -> None:
        """Call out for each whose moment has come, once, for ever."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._changed.clear()
                self._call_due(call)
                changed = tasks.create_task(self._changed.wait())
                waits: set[asyncio.Task[object]] = {changed}
                if self._moments:
                    nearest = min(self._moments.values())
                    waits.add(tasks.create_task(self._clock.sleep_until(nearest)))
                _, asleep = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for task in asleep:
                    task.cancel()

    def _call_due(self, call: Callable[[SandboxId], None]) -> None:
        now = self._clock.now()
        for sandbox_id in [key for key, at in self._moments.items() if at <= now]:
            del self._moments[sandbox_id]
            call(sandbox_id)
