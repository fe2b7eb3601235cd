"""Work queues: one for each sandbox, each in order, all in parallel.

Superseded work (a provision of a sandbox that is to be destroyed) is cancelled, so a destroy
never waits for a provision. A queue lives only while it has work.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.instruction import Provision
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.services.lifecycle.transitions import Work
from atoll.services.task_runner import TaskRunner

Perform = Callable[[Sandbox, Work], Awaitable[None]]


@dataclass(slots=True)
class _WorkQueue:
    pending: deque[tuple[Sandbox, Work]] = field(default_factory=deque)
    current: asyncio.Task[None] | None = None
    work: Work | None = None
    draining: bool = False


class WorkQueues:
    """Bounded by the number of sandboxes: each has few instructions at a time. `perform` must
    not raise; `done` is called when a queue has run empty."""

    def __init__(
        self, runner: TaskRunner, perform: Perform, done: Callable[[SandboxId], None]
    ) -> None:
        self._perform = perform
        self._done = done
        self._queues: dict[SandboxId, _WorkQueue] = {}
        self._runner = runner

    def submit(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
        """Queue `work`; a provision under way for this sandbox is cancelled."""
        if not work:
            return
        queue = self._queues.setdefault(sandbox.id, _WorkQueue())
        queue.pending = deque(item for item in queue.pending if not isinstance(item[1], Provision))
        if isinstance(queue.work, Provision) and queue.current is not None:
            queue.current.cancel()
        queue.pending.extend((sandbox, item) for item in work)
        self._begin(sandbox.id, queue)

    def busy(self, sandbox_id: SandboxId) -> bool:
        """Return whether work for this sandbox is queued or under way."""
        return sandbox_id in self._queues

    def _begin(self, sandbox_id: SandboxId, queue: _WorkQueue) -> None:
        if not queue.draining:
            queue.draining = True
            self._runner.start(lambda: self._drain(sandbox_id, queue))

    async def _drain(self, sandbox_id: SandboxId, queue: _WorkQueue) -> None:
        async with asyncio.TaskGroup() as tasks:
            while queue.pending:
                sandbox, queue.work = queue.pending.popleft()
                queue.current = tasks.create_task(self._run(sandbox, queue.work))
                await asyncio.wait({queue.current})
                queue.current = queue.work = None
            # Without an await since the last look, so that nothing is submitted in between.
            del self._queues[sandbox_id]
            self._done(sandbox_id)

    async def _run(self, sandbox: Sandbox, work: Work) -> None:
        await self._perform(sandbox, work)
