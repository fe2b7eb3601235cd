"""Owed work: what replicas decided, taken up by the leader from the stored states.

A replica that accepts a request stores, in the transaction of the change, that work is owed. The
leader looks at intervals, derives the work from the state, and stores that it is done once the
sandbox stands still. No message is needed, and a new leader goes on from the same rows.
"""

import asyncio
import contextlib
from datetime import datetime, timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.owed import is_passing, owed_work
from atoll.services.ground import Ground
from atoll.services.sandboxes.work_queues import Performer, WorkQueues

LOOK_SECONDS = 0.25
"""Between two looks. This process itself wakes the leader at once."""

AGAIN_SECONDS = 2.0
"""Before work is taken up again that left its sandbox in a passing state."""

_log = structlog.get_logger(__name__)


class OwedWork:
    """The work of all replicas. Bounded by the number of sandboxes."""

    def __init__(self, ground: Ground, queues: WorkQueues) -> None:
        self._ground = ground
        self._queues = queues
        self._taken: dict[SandboxId, int] = {}
        self._done: set[SandboxId] = set()
        self._again: dict[SandboxId, datetime] = {}
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Look soon: this process stored that work is owed, or finished some."""
        self._wake.set()

    def ran_empty(self, sandbox_id: SandboxId) -> None:
        """Have it stored that the work which was taken up for a sandbox is done."""
        self._done.add(sandbox_id)
        self._wake.set()

    async def settled(self, sandbox_id: SandboxId) -> bool:
        """Return whether nothing is owed for a sandbox. Raises `Unavailable`."""
        async with self._ground.store.read() as rows:
            return sandbox_id not in await rows.replicas.owed()

    async def run(self, performer: Performer) -> None:
        """Have everything performed that is owed, until cancelled. For the leader."""
        for known in (self._taken, self._done, self._again, self._queues):
            known.clear()
        await self._begin()
        while True:
            self._wake.clear()
            try:
                await self._settle()
                await self._take_up(performer)
            except AtollError as error:
                _log.warning("owed_work_not_read", reason=error.message)
                await self._pause(AGAIN_SECONDS)
            await self._woken()

    async def _begin(self) -> None:
        """Owe what passing states ask for, also when it was decided without replicas."""
        while True:
            try:
                async with self._ground.store.begin() as rows:
                    owed = await rows.replicas.owed()
                    for sandbox in await rows.sandboxes.unfinished():
                        if is_passing(sandbox) and sandbox.id not in owed:
                            await rows.replicas.owe(sandbox.id, ending=False)
                return
            except AtollError as error:
                _log.warning("owed_work_not_begun", reason=error.message)
                await self._pause(AGAIN_SECONDS)

    async def _take_up(self, performer: Performer) -> None:
        async with self._ground.store.read() as rows:
            owed = await rows.replicas.owed()
            fresh = [
                sandbox_id
                for sandbox_id, number in owed.items()
                if self._taken.get(sandbox_id) != number
            ]
            owing = await rows.replicas.owing(fresh) if fresh else []
        for debt, sandbox in owing:
            work = owed_work(sandbox, ending=debt.ending)
            self._taken[debt.sandbox_id] = debt.number
            for seen, piece in work:
                self._queues.submit(seen, (piece,), performer)
            if not work and not self._queues.busy(debt.sandbox_id):
                self.ran_empty(debt.sandbox_id)
        for lost in set(fresh) - {debt.sandbox_id for debt, _ in owing}:
            self._taken[lost] = owed[lost]
            self.ran_empty(lost)

    async def _settle(self) -> None:
        now = self._ground.clock.now()
        for sandbox_id in list(self._done):
            if not self._queues.busy(sandbox_id) and not await self._settle_debt(sandbox_id):
                self._again[sandbox_id] = now + timedelta(seconds=AGAIN_SECONDS)
            self._done.discard(sandbox_id)
        for sandbox_id in [sandbox_id for sandbox_id, due in self._again.items() if due <= now]:
            del self._again[sandbox_id]
            self._taken.pop(sandbox_id, None)

    async def _settle_debt(self, sandbox_id: SandboxId) -> bool:
        """Store that nothing is owed for a sandbox. Returns false while its state is a passing one.

        Work that was interrupted, as the store was lost, left it in a passing state: it is taken up
        again.
        """
        number = self._taken.get(sandbox_id)
        if number is None:
            return True
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            sandbox = await rows.sandboxes.get(sandbox_id)
            if sandbox is not None and is_passing(sandbox):
                return False
            settled = await rows.replicas.settle(sandbox_id, number)
        if settled:
            self._taken.pop(sandbox_id, None)
        self._ground.bus.announce((sandbox_stream(sandbox_id),))
        return True

    async def _woken(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._wake.wait()

    async def _pause(self, seconds: float) -> None:
        clock = self._ground.clock
        await clock.sleep_until(clock.now() + timedelta(seconds=seconds))
