"""Maintenance starts: sandboxes that do not run, brought up to read what they keep.

Only the wall and its init come up: no agent, no set-up, no key, doors that refuse. The state of
the sandbox does not change. Each sandbox has one maintenance start at a time, shared by all who
read; a control plane that dies leaves one that ends by itself.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError, Unavailable
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import Clock, Reachability, RuntimeClient
from atoll.services.provisioning.provisioning import Provisioning
from atoll.services.task_runner import TaskRunner

IDLE_SECONDS = 10.0
"""Without a reader: one command makes several requests, and a start costs more than waiting."""

MOST_SECONDS = 3600.0
"""After which a maintenance start ends whoever reads."""

ALONE_SECONDS = 60
"""After which its runtime ends by itself when no control plane asks it anything."""

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Start:
    """Maintenance start of a sandbox, `ending` once no reader may join."""

    reach: asyncio.Future[Reachability]
    readers: int = 0
    ending: bool = False
    stirred: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Maintenance:
    """Maintenance starts by sandbox. Bounded by the number of sandboxes."""

    def __init__(self, provisioning: Provisioning, clock: Clock, runner: TaskRunner) -> None:
        self._provisioning = provisioning
        self._clock = clock
        self._starts: dict[SandboxId, _Start] = {}
        self._runner = runner
        self._barred: set[SandboxId] = set()

    @contextmanager
    def barred(self, sandbox_id: SandboxId) -> Iterator[None]:
        """Have no start of a sandbox begin for the length of the context: its files move."""
        self._barred.add(sandbox_id)
        try:
            yield
        finally:
            self._barred.discard(sandbox_id)

    def holds(self, sandbox_id: SandboxId) -> bool:
        """Return whether this sandbox is up for maintenance."""
        return sandbox_id in self._starts

    @asynccontextmanager
    async def opened(self, sandbox: Sandbox) -> AsyncIterator[RuntimeClient]:
        """Start a sandbox for maintenance and yield its runtime's client for the length of the
        context. Raises the errors of the ports; `Unavailable` when the sandbox is started
        meanwhile."""
        async with self.reached(sandbox) as reach:
            yield self._provisioning.client_at(reach)

    @asynccontextmanager
    async def reached(self, sandbox: Sandbox) -> AsyncIterator[Reachability]:
        """Do as `opened`, and yield where the runtime answers."""
        start = await self._join_start(sandbox)
        start.readers += 1
        start.stirred.set()
        try:
            yield await asyncio.shield(start.reach)
        except Unavailable:
            # Its runtime may be gone: the next reader gets another.
            start.ending = True
            raise
        finally:
            start.readers -= 1
            start.stirred.set()

    async def end(self, sandbox_id: SandboxId) -> None:
        """End the maintenance start of a sandbox, even while it is read. Return once it is over."""
        start = self._starts.get(sandbox_id)
        if start is not None:
            start.ending = True
            start.stirred.set()
            await start.ended.wait()

    async def _join_start(self, sandbox: Sandbox) -> _Start:
        """Return the present maintenance start, or a new one once the one before has ended."""
        while (there := self._starts.get(sandbox.id)) is not None and there.ending:
            await there.ended.wait()
        if there is not None:
            return there
        if sandbox.id in self._barred:
            raise Unavailable(
                f"The files of {sandbox.name} go to another host: try again once they are there."
            )
        if not self._runner.running:
            raise Unavailable("Atoll is not up yet: try again in a moment.")
        start = self._starts[sandbox.id] = _Start(asyncio.get_running_loop().create_future())
        self._runner.start(lambda: self._run_maintenance(sandbox, start))
        return start

    async def _run_maintenance(self, sandbox: Sandbox, start: _Start) -> None:
        """Run a maintenance start from its provision to its teardown. Raises nothing."""
        try:
            reach = await self._provisioning.reach_kept(sandbox, alone_seconds=ALONE_SECONDS)
            start.reach.set_result(reach)
            await self._until_unused(start)
        except AtollError as err:
            _refuse(start, err)
        except Exception:  # noqa: BLE001 - the task's root
            _log.exception("maintenance_broke", sandbox=sandbox.id)
            _refuse(start, Unavailable(f"What {sandbox.name} keeps could not be opened."))
        finally:
            start.ending = True
            await self._close(sandbox)
            _refuse(start, Unavailable("Atoll is going down: try again when it is back."))
            del self._starts[sandbox.id]
            start.ended.set()

    async def _until_unused(self, start: _Start) -> None:
        most = self._clock.now() + timedelta(seconds=MOST_SECONDS)
        while not start.ending and self._clock.now() < most:
            start.stirred.clear()
            unused = self._clock.now() + timedelta(seconds=IDLE_SECONDS)
            async with asyncio.TaskGroup() as tasks:
                stirred = tasks.create_task(start.stirred.wait())
                over = tasks.create_task(
                    self._clock.sleep_until(most if start.readers else min(unused, most))
                )
                _, waiting = await asyncio.wait(
                    {stirred, over}, return_when=asyncio.FIRST_COMPLETED
                )
                for task in waiting:
                    task.cancel()
            if not start.readers and not start.stirred.is_set():
                return

    async def _close(self, sandbox: Sandbox) -> None:
        try:
            await self._provisioning.tear_down(sandbox, keep_state=True)
        except AtollError as err:
            # Its runtime ends by itself, and the next survey sees to what is left.
            _log.warning("maintenance_not_ended", sandbox=sandbox.id, reason=err.message)


def _refuse(start: _Start, error: AtollError) -> None:
    if not start.reach.done():
        start.reach.set_exception(error)
        start.reach.exception()  # seen: every reader gets it from the future
