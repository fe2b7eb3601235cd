"""Lanes: one queue of work per sandbox, each done in order, all side by side.

What is superseded (a provision once its sandbox is to go) is cancelled, so a destroy
never waits for a bring-up. A lane lives only while it has work.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from atoll.domain.ids import SandboxId
from atoll.domain.sandbox.instruction import Provision
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.services.sandboxes.transitions import Work

Perform = Callable[[Sandbox, Work], Awaitable[None]]


@dataclass(slots=True)
class _Lane:
    queue: deque[tuple[Sandbox, Work]] = field(default_factory=deque)
    current: asyncio.Task[None] | None = None
    work: Work | None = None
    draining: bool = False


class Lanes:
    """Bounded by the number of sandboxes: each has few instructions at a time. `perform` must
    not raise; `done` is called when a lane has run empty."""

    def __init__(self, perform: Perform, done: Callable[[SandboxId], None]) -> None:
        self._perform = perform
        self._done = done
        self._lanes: dict[SandboxId, _Lane] = {}
        self._tasks: asyncio.TaskGroup | None = None

    def open(self, tasks: asyncio.TaskGroup) -> None:
        """From now on work is done, in `tasks`; what came before is begun."""
        self._tasks = tasks
        for sandbox_id, lane in self._lanes.items():
            self._begin(sandbox_id, lane)

    def submit(self, sandbox: Sandbox, work: Sequence[Work]) -> None:
        """Queue `work`; a bring-up that is under way for this sandbox is given up."""
        if not work:
            return
        lane = self._lanes.setdefault(sandbox.id, _Lane())
        lane.queue = deque(item for item in lane.queue if not isinstance(item[1], Provision))
        if isinstance(lane.work, Provision) and lane.current is not None:
            lane.current.cancel()
        lane.queue.extend((sandbox, item) for item in work)
        self._begin(sandbox.id, lane)

    def busy(self, sandbox_id: SandboxId) -> bool:
        """Whether work for this sandbox is queued or under way."""
        return sandbox_id in self._lanes

    def _begin(self, sandbox_id: SandboxId, lane: _Lane) -> None:
        if self._tasks is not None and not lane.draining:
            lane.draining = True
            self._tasks.create_task(self._drain(sandbox_id, lane, self._tasks))

    async def _drain(self, sandbox_id: SandboxId, lane: _Lane, tasks: asyncio.TaskGroup) -> None:
        while lane.queue:
            sandbox, lane.work = lane.queue.popleft()
            lane.current = tasks.create_task(self._run(sandbox, lane.work))
            await asyncio.wait({lane.current})
            lane.current = lane.work = None
        del self._lanes[sandbox_id]
        self._done(sandbox_id)

    async def _run(self, sandbox: Sandbox, work: Work) -> None:
        await self._perform(sandbox, work)
