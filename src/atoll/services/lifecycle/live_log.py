"""The log of a bring-up under way: its lines, until they are stored with the outcome.

Where several control planes share the store, a bring-up that takes a while stores them at
intervals, so that each of them shows the same.
"""

import asyncio
from datetime import timedelta

from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import LogLine
from atoll.services.ground import Ground

INTERVAL = timedelta(seconds=1)
"""A quick bring-up stores its lines once, with the outcome."""

MAX_TEXT = 2000
"""Characters of a line."""


class LiveLog:
    """The lines of one bring-up. Bounded by what a bring-up reports."""

    def __init__(self, ground: Ground, sandbox: Sandbox) -> None:
        self._ground = ground
        self._sandbox = sandbox
        self._lines: list[LogLine] = []
        self._storing = asyncio.Lock()
        self._over = False

    @property
    def lines(self) -> tuple[LogLine, ...]:
        """The lines that are not stored yet."""
        return tuple(self._lines)

    def report(self, text: str) -> None:
        """Add a line."""
        self._lines.append(self._line(text))

    def _line(self, text: str) -> LogLine:
        return LogLine(self._ground.clock.now(), text[:MAX_TEXT])

    async def run(self) -> None:
        """Store lines at intervals until the end. Raises `Conflict` when another process leads,
        and what the store raises; the rest is stored with the outcome then."""
        while True:
            await self._ground.clock.sleep_until(self._ground.clock.now() + INTERVAL)
            async with self._storing:
                if self._over:
                    return
                await self._store()

    async def taken(self, *last: str) -> tuple[LogLine, ...]:
        """End, and return the lines that are left to be stored; then those of `last`, which count
        only once they are stored."""
        self.close()
        async with self._storing:
            return (*self.lines, *map(self._line, last))

    def close(self) -> None:
        """Store no more lines."""
        self._over = True

    async def _store(self) -> None:
        seen = self.lines
        if not seen:
            return
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            await rows.logs.append(self._sandbox, seen)
        del self._lines[: len(seen)]
