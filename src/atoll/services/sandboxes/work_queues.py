"""Work queues: one for each sandbox, each in order, all in parallel.

Superseded work (a provision of a sandbox that is to be destroyed) is cancelled, so a destroy
never waits for a provision. It does not wait for a stop that is retried either: `ending` tells that
one to give way. A queue lives only while it has work.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.instruction import Provision, Relocate, Teardown
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.lifecycle.transitions import Work
from atoll.services.task_runner import TaskRunner


class Performer(Protocol):
    """Performer of what is queued."""

    async def perform(self, sandbox: Sandbox, work: Work) -> None:
        """Perform one piece of work. It must not raise."""
        ...

    def ran_empty(self, sandbox_id: SandboxId) -> None:
        """Receive the end of a queue: nothing is left to do for this sandbox."""
        ...


@dataclass(slots=True)
class _WorkQueue:
    pending: deque[tuple[Sandbox, Work]] = field(default_factory=deque)
    current: asyncio.Task[None] | None = None
    work: Work | None = None
    draining: bool = False
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while a destruction waits."""


class WorkQueues:
    """Queues of all sandboxes. Bounded by their number: each has few instructions at a time."""

    def __init__(self, runner: TaskRunner) -> None:
        self._queues: dict[SandboxId, _WorkQueue] = {}
        self._runner = runner

    def submit(self, sandbox: Sandbox, work: Sequence[Work], performer: Performer) -> None:
        """Queue `work` for `performer`; a provision under way for this sandbox is cancelled, and
        by its destruction a relocation, too."""
        if not work:
            return
        queue = self._queues.setdefault(sandbox.id, _WorkQueue())
        ending = any(map(_is_final_teardown, work))
        superseded = (Provision, Relocate) if ending else (Provision,)
        queue.pending = deque(item for item in queue.pending if not isinstance(item[1], superseded))
        if isinstance(queue.work, superseded) and queue.current is not None:
            queue.current.cancel()
        queue.pending.extend((sandbox, item) for item in work)
        if ending:
            queue.ending.set()
        self._begin(sandbox.id, queue, performer)

    def busy(self, sandbox_id: SandboxId) -> bool:
        """Return whether work for this sandbox is queued or under way."""
        return sandbox_id in self._queues

    async def ending(self, sandbox_id: SandboxId) -> None:
        """Return once a destruction waits for the work that is under way for this sandbox."""
        await self._queues[sandbox_id].ending.wait()

    def clear(self) -> None:
        """Forget all work: what ran it was cancelled."""
        self._queues.clear()

    def _begin(self, sandbox_id: SandboxId, queue: _WorkQueue, performer: Performer) -> None:
        if not queue.draining:
            queue.draining = True
            self._runner.start(lambda: self._drain(sandbox_id, queue, performer))

    async def _drain(self, sandbox_id: SandboxId, queue: _WorkQueue, performer: Performer) -> None:
        async with asyncio.TaskGroup() as tasks:
            while queue.pending:
                sandbox, queue.work = queue.pending.popleft()
                if not any(_is_final_teardown(work) for _, work in queue.pending):
                    queue.ending.clear()
                queue.current = tasks.create_task(_run(performer, sandbox, queue.work))
                await asyncio.wait({queue.current})
                queue.current = queue.work = None
            # Without an await since the last look, so that nothing is submitted in between.
            del self._queues[sandbox_id]
            performer.ran_empty(sandbox_id)


def _is_final_teardown(work: Work) -> bool:
    return isinstance(work, Teardown) and not work.keep_state


async def _run(performer: Performer, sandbox: Sandbox, work: Work) -> None:
    await performer.perform(sandbox, work)
