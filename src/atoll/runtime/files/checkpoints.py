"""Checkpoints: commits of the working trees, taken when a turn of an agent begins. At its end the
lines and commits since the branch began are counted.

Git runs inside, as the sandbox's user and within its quota (`wire.git.checkpoints`). A checkpoint
that fails costs a way back, never the turn.
"""

import asyncio
import logging
import re
from collections.abc import Callable
from contextlib import suppress

from atoll.domain.errors import AtollError
from atoll.ports.spawner import ProcessSpec, Spawner
from atoll.runtime.files.pipe import HalfPipe
from atoll.runtime.tasks import Tasks
from atoll.wire.git.checkpoints import CHECKPOINT, TALLY

log = logging.getLogger("atoll.runtime")

SECONDS = 60.0
"""The time a checkpoint may take; a larger tree has none."""

_KILL = 9
_KEPT_BYTES = 4096
_COUNTS = re.compile(rb"^(\d{1,9}) (\d{1,9}) (\d{1,9})$", re.MULTILINE)


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

    def count(self, terminal: str, counted: Callable[[int, int, int], None]) -> None:
        """Count commits, lines added and lines removed since the branch began (or, without
        a shared repository, the agent's first turn), and report them to `counted`; never waits."""
        self._tasks.spawn(self._count(terminal, counted), "count of changes")

    async def _take(self, terminal: str, subject: str) -> None:
        await self._run(CHECKPOINT, terminal, subject)

    async def _count(self, terminal: str, counted: Callable[[int, int, int], None]) -> None:
        found = _COUNTS.findall(await self._run(TALLY, terminal))
        if found:
            commits, plus, minus = (sum(map(int, each)) for each in zip(*found, strict=True))
            counted(commits, plus, minus)

    async def _run(self, script: str, *args: str) -> bytes:
        """Return the first bytes that a script prints; empty when it fails."""
        try:
            async with asyncio.timeout(SECONDS):
                return await self._printed(script, args)
        except TimeoutError:
            log.warning("git was not done within %g s: the files are too many", SECONDS)
        except AtollError as error:
            log.warning("git could not be run: %s", error.message)
        return b""

    async def _printed(self, script: str, args: tuple[str, ...]) -> bytes:
        pipes = (HalfPipe(reads=False), HalfPipe(reads=True), HalfPipe(reads=True))
        try:
            process = await self._spawner.spawn(
                ProcessSpec(
                    argv=("/bin/sh", "-c", script, "atoll", *args),
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
                printed = await _read(pipes[1])
                await process.wait()
                return printed
            finally:
                with suppress(AtollError):
                    await process.signal(_KILL, tree=True)
        finally:
            for pipe in pipes:
                pipe.close()


async def _read(pipe: HalfPipe) -> bytes:
    """Read until nobody can write any more; returns the first bytes."""
    kept = b""
    while data := await pipe.read():
        kept = (kept + data)[:_KEPT_BYTES]
    return kept
