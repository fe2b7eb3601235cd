"""Ports inside on which something listens: read by a tool inside, and watched after each use.

A server that begins to listen usually follows something that a person or an agent did. So the
watch looks every `LOOK_SECONDS` for a while after a use, and hardly ever while nothing happens.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from atoll.domain.errors import AtollError
from atoll.domain.network.listening import changes, non_ephemeral_ports, read_listening
from atoll.ports.spawner import Spawner
from atoll.runtime.files.tool import run
from atoll.runtime.health import Activity

LOOK_SECONDS: Final = 2.0
LOOKS: Final = 15
"""The looks after a use: half a minute."""

IDLE_SECONDS: Final = 60.0
FRESH_SECONDS: Final = 1.0
"""The time for which an answer is good: many may ask at once, and each look starts a process."""

Append = Callable[[str, Mapping[str, object]], object]


class ListeningPorts:
    """The ports as of a moment ago. `append` writes `port.opened` and `port.closed` into the
    journal; `busy` reports whether anything runs that could listen."""

    def __init__(
        self, spawner: Spawner, activity: Activity, append: Append, *, busy: Callable[[], bool]
    ) -> None:
        self._spawner = spawner
        self._activity = activity
        self._append = append
        self._busy = busy
        self._lock = asyncio.Lock()
        self._ports: tuple[int, ...] = ()
        self._looked_at = -FRESH_SECONDS

    async def now(self) -> tuple[int, ...]:
        """Return the ports. Raises what the tool raises."""
        loop = asyncio.get_running_loop()
        # One look for all who wait: the lock is held while one process inside prints some lines.
        async with self._lock:
            if loop.time() - self._looked_at >= FRESH_SECONDS:
                output = await run(self._spawner, "listening", "--", what="list the ports")
                before, self._ports = self._ports, read_listening(output.decode("ascii", "replace"))
                self._looked_at = loop.time()
                self._report(before)
            return self._ports

    async def watch(self) -> None:
        """Look after each use, until cancelled."""
        while True:
            await self._activity.used_again(IDLE_SECONDS)
            for _ in range(LOOKS):
                await asyncio.sleep(LOOK_SECONDS)
                await self._look()

    async def _look(self) -> None:
        if not self._busy() and not self._ports:
            return
        try:
            await self.now()
        except (AtollError, OSError):
            return  # the sandbox ends, or is full: the next look may succeed

    def _report(self, before: tuple[int, ...]) -> None:
        for change in changes(non_ephemeral_ports(before), non_ephemeral_ports(self._ports)):
            self._append("port.opened" if change.opened else "port.closed", {"port": change.port})
