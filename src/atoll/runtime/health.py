"""Health of the runtime: counters for its probe, and the time of the last activity."""

import asyncio
import contextlib
import os
from dataclasses import dataclass

from atoll import __version__
from atoll.runtime.clock import timestamp
from atoll.wire.contract.journal import HealthRecord

_USES = ("agent.", "door.", "approval.")


@dataclass(frozen=True, slots=True)
class Counts:
    """The numbers of live objects in a runtime."""

    sessions: int
    execs: int
    attached: int


class Activity:
    """The last input, exec or file change, and the last use of any kind: also a turn, a request
    at a door or at a forwarded port. Watching and output do not count."""

    def __init__(self, sandbox_id: str, generation: int) -> None:
        self._sandbox_id = sandbox_id
        self._generation = generation
        self._started_at = timestamp()
        self._loop = asyncio.get_running_loop()
        self._touched = self._used = self._loop.time()
        self._again = asyncio.Event()

    def touch(self) -> None:
        """Note input, an exec or a file change."""
        self._touched = self._used = self._loop.time()
        self._again.set()

    def use(self) -> None:
        """Note a turn, or a request at a door or a forwarded port."""
        self._used = self._loop.time()
        self._again.set()

    async def used_again(self, seconds: float) -> None:
        """Return after the next use, or after `seconds`. One task may wait."""
        self._again.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._again.wait()

    def noted(self, kind: str) -> None:
        """Note a journal entry: agents begin and end turns, requests reach the doors."""
        if kind.startswith(_USES):
            self.use()

    def health(self, counts: Counts) -> HealthRecord:
        """Return the state of this runtime; seconds have one decimal."""
        now = self._loop.time()
        return HealthRecord(
            sandbox_id=self._sandbox_id,
            generation=self._generation,
            version=__version__,
            pid=os.getpid(),
            started_at=self._started_at,
            sessions=counts.sessions,
            execs=counts.execs,
            attached=counts.attached,
            idle_seconds=round(now - self._touched, 1),
            unused_seconds=round(now - self._used, 1),
        )
