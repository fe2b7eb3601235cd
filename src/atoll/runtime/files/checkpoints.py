"""Checkpoints: commits of the working trees, taken when a turn of an agent begins. At its end the
lines and commits since the branch began are counted.

Git runs inside, as the sandbox's user and within its quota (`wire.git.checkpoints`). A checkpoint
that fails costs a way back, never the turn.
"""

import asyncio
import logging
import re
from collections.abc import Callable

from atoll.domain.errors import AtollError
from atoll.ports.spawner import Spawner
from atoll.runtime.files.script import InsideScripts
from atoll.runtime.tasks import Tasks
from atoll.wire.git.checkpoints import CHECKPOINT, TALLY

log = logging.getLogger("atoll.runtime")

SECONDS = 60.0
"""The time a checkpoint may take; a larger tree has none."""

_COUNTS = re.compile(rb"^(\d{1,9}) (\d{1,9}) (\d{1,9})$", re.MULTILINE)


class Checkpoints:
    """The checkpoints of one sandbox. One is taken at a time; a turn that begins meanwhile shares
    it."""

    def __init__(
        self, spawner: Spawner, tasks: Tasks, *, env: tuple[tuple[str, str], ...], workspace: str
    ) -> None:
        self._scripts = InsideScripts(spawner, env, workspace)
        self._tasks = tasks
        self._running: asyncio.Task[None] | None = None

    def begin(self, terminal: str, agent: str) -> None:
        """Take a checkpoint before a turn of the agent; never waits."""
        if self._running is None or self._running.done():
            subject = f"Before a turn of {agent}"
            self._running = self._tasks.spawn(self._take(terminal, subject), "checkpoint")

    def count(self, terminal: str, counted: Callable[[int, int, int], None]) -> None:
        """Count commits, lines added and lines removed since the branch began (or, without
        a shared repository, the agent's first turn), and report them to `counted`; never waits."""
        self._tasks.spawn(self._count(terminal, counted), "count of changes")

    async def _take(self, terminal: str, subject: str) -> None:
        await self._run(CHECKPOINT, terminal, subject)

    async def _count(self, terminal: str, counted: Callable[[int, int, int], None]) -> None:
        counts = _COUNTS.findall(await self._run(TALLY, terminal))
        if counts:
            commits, plus, minus = (sum(map(int, each)) for each in zip(*counts, strict=True))
            counted(commits, plus, minus)

    async def _run(self, script: str, *args: str) -> bytes:
        """Return the first bytes that a script prints; empty when it fails."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._scripts.printed(script, *args)
        except TimeoutError:
            log.warning("git was not done within %g s: the files are too many", SECONDS)
        except AtollError as error:
            log.warning("git could not be run: %s", error.message)
        except OSError as error:
            log.warning("git could not be run: %s", error.strerror)
        return b""
