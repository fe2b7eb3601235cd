"""The copies of shared repositories that running sandboxes have on other machines.

What comes into a repository here is brought to them: a fetch is over when they have it, too.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import structlog

from atoll.domain.errors import AtollError
from atoll.ports.extension import Extension, Mirrors

WAIT_SECONDS = 20.0
"""A machine that takes longer gets its objects later: nobody else waits for it."""

_log = structlog.get_logger(__name__)
_Copy: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Copies:
    """The copies in sandboxes of these extensions."""

    extensions: Mapping[str, Extension]
    wait_seconds: float = WAIT_SECONDS
    _turns: defaultdict[_Copy, asyncio.Lock] = field(
        default_factory=lambda: defaultdict(asyncio.Lock)
    )
    _queued: dict[_Copy, asyncio.Task[None]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def refresh(self, source: Path) -> None:
        """Bring new objects of a repository to every copy, or give up waiting. A failure is
        logged: the next change, or the sandbox's next start, brings it."""
        mirrors = {one.name: one for one in self.extensions.values() if isinstance(one, Mirrors)}
        tasks = [self._next_refresh(mirror, str(source)) for mirror in mirrors.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=self.wait_seconds)

    async def close(self) -> None:
        """Stop refreshing."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _next_refresh(self, mirror: Mirrors, source: str) -> asyncio.Task[None]:
        """Return the refresh that has not begun yet: it will see what changed until then."""
        copy = (mirror.name, source)
        task = self._queued.get(copy)
        if task is None:
            # Owned here: `close` cancels each.
            task = asyncio.get_running_loop().create_task(self._turn(mirror, copy))
            self._queued[copy] = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return task

    async def _turn(self, mirror: Mirrors, copy: _Copy) -> None:
        name, source = copy
        async with self._turns[copy]:
            del self._queued[copy]
            try:
                await mirror.refresh(source)
            except AtollError as error:
                _log.warning("copy_not_refreshed", extension=name, why=error.message)
