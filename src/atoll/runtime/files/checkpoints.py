"""Checkpoints: commits of the working trees, taken when a turn of an agent begins.

Git runs inside, as the sandbox's user and within its quota (`wire.git.checkpoints`). A checkpoint
that fails costs a way back, never the turn.
"""

import asyncio
import logging
from contextlib import suppress

from atoll.domain.errors import AtollError
from atoll.ports.spawner import ProcessSpec, Spawner
from atoll.runtime.files.pipe import HalfPipe
from atoll.runtime.tasks import Tasks
from atoll.wire.git.checkpoints import CHECKPOINT

log = logging.getLogger("atoll.runtime")

SECONDS = 60.0
"""The time a checkpoint may take; a larger tree has none."""

_KILL = 9


class Checkpoints:
    """The checkpoints of one sandbox. One is taken at a time; a turn that begins meanwhile shares
    it."""

    def __init__(
        self, spawner: Spawner, tasks: Tasks, *, env: tuple[tuple[str, str], ...], workspace: str
    ) -> None:
        self._spawner = spawner
        self._tasks = tasks
        self._env = env
        self._workspace = workspace
        self._running: asyncio.Task[None] | None = None

    def begin(self, terminal: str, agent: str) -> None:
        """Take a checkpoint before a turn of the agent; never waits."""
        if self._running is None or self._running.done():
            subject = f"Before a turn of {agent}"
            self._running = self._tasks.spawn(self._take(terminal, subject), "checkpoint")

    async def _take(self, terminal: str, subject: str) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                await self._run(terminal, subject)
        except TimeoutError:
            log.warning("no checkpoint was taken within %g s: the files are too many", SECONDS)
        except AtollError as error:
            log.warning("no checkpoint was taken: %s", error.message)

    async def _run(self, terminal: str, subject: str) -> None:
        pipes = (HalfPipe(reads=False), HalfPipe(reads=True), HalfPipe(reads=True))
        try:
            process = await self._spawner.spawn(
                ProcessSpec(
                    argv=("/bin/sh", "-c", CHECKPOINT, "atoll", terminal, subject),
                    env=self._env,
                    cwd=self._workspace,
                    stdin=pipes[0].theirs,
                    stdout=pipes[1].theirs,
                    stderr=pipes[2].theirs,
                )
            )
            for pipe in pipes:
                pipe.given()
            try:
                await _ended(pipes[1])
                await process.wait()
            finally:
                with suppress(AtollError):
                    await process.signal(_KILL, tree=True)
        finally:
            for pipe in pipes:
                pipe.close()


async def _ended(pipe: HalfPipe) -> None:
    """Read until nobody can write any more; the output says nothing."""
    while await pipe.read():
        pass
