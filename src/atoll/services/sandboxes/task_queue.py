"""The queue of tasks at work: starts the next one when there is a place for it.

The queue is the stored sandboxes themselves, so it outlives the control plane. What it decides is
`domain.sandboxes.task_queue`'s.
"""

import asyncio
from collections import defaultdict
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.sandboxes.reported import AGENTS, agents_in
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.sandboxes.stimulus import Queued, Requested
from atoll.domain.sandboxes.task_queue import decide, is_queued
from atoll.services.ground import Ground
from atoll.services.sandboxes.reconciler import Reconciler

LOOK_SECONDS = 2.0
"""The time between two looks while a task waits."""

_log = structlog.get_logger(__name__)


class TaskQueue:
    """The queues of all people."""

    def __init__(self, ground: Ground, reconciler: Reconciler) -> None:
        self._ground = ground
        self._reconciler = reconciler
        self._waits = asyncio.Event()

    async def run(self) -> None:
        """Start tasks as places become free, until cancelled."""
        self._waits.set()
        while True:
            await self._waits.wait()
            try:
                if not await self._look():
                    self._waits.clear()
                    continue
            except AtollError as err:
                _log.warning("task_queue_not_read", reason=err.message)
            pause = timedelta(seconds=LOOK_SECONDS)
            await self._ground.clock.sleep_until(self._ground.clock.now() + pause)

    async def join(self, sandbox: Sandbox) -> None:
        """Start a queued sandbox if there is a place, else report its place in the line."""
        self.note()
        if self._ground.leadership.leads:
            await self._look((sandbox.org_id, sandbox.owner))

    def note(self) -> None:
        """Look from now on: a task waits, perhaps one that another replica queued."""
        self._waits.set()

    async def _look(self, only: tuple[OrgId, PrincipalId] | None = None) -> bool:
        """Decide for each person, or for one. Returns whether a task still waits."""
        async with self._ground.store.read() as rows:
            everything = await rows.sandboxes.unfinished(*(only or ()))
            people: dict[tuple[OrgId, PrincipalId], list[Sandbox]] = defaultdict(list)
            for sandbox in everything:
                people[sandbox.org_id, sandbox.owner].append(sandbox)
            asked = {
                who: (held, await rows.projections.owned(AGENTS.name, *who))
                for who, held in people.items()
                if only in (None, who) and any(map(is_queued, held))
            }
        still = False
        for held, states in asked.values():
            agents = {sandbox.id: agents_in(sandbox, states) for sandbox in held}
            decision = decide(held, agents, self._ground.clock.now())
            for sandbox_id in decision.starting:
                await self._reconciler.apply(sandbox_id, Requested())
            for sandbox_id, before in decision.waiting:
                await self._reconciler.apply(sandbox_id, Queued(before))
            still = still or bool(decision.waiting)
        return still
