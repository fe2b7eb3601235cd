"""Watch over what other replicas do: each reads the log that all of them append to.

What changed goes into the directory of this process and is announced to its waiting readers. The
leader looks after deadlines, policies and queued tasks besides. Nothing here is needed where one
control plane has the store to itself.
"""

import asyncio
from datetime import timedelta

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import SANDBOX_STREAMS, Event
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.sandboxes.task_queue import is_queued
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.policies.policy_push import PolicyPush
from atoll.services.sandboxes.metadata import Metadata
from atoll.services.sandboxes.reconciler import Reconciler
from atoll.services.sandboxes.task_queue import TaskQueue
from atoll.wire.words.sandboxes import State

LOOK_SECONDS = 0.25
"""Between two looks, the time after which one replica knows what another did."""

AGAIN_SECONDS = 1.0
"""Before a retry at a store that did not answer."""

PAGE = 200
"""Events read at once."""

POLICY_EVENTS = ("secret.", "approval.", "network.", "agent_login.")
"""Beginnings of the types of events after which policies may differ."""

_log = structlog.get_logger(__name__)


class ReplicaWatch:
    """The reader of one replica."""

    def __init__(
        self,
        ground: Ground,
        directory: Directory,
        *,
        reconciler: Reconciler,
        policy_push: PolicyPush,
        task_queue: TaskQueue,
        metadata: Metadata,
    ) -> None:
        self._ground = ground
        self._directory = directory
        self._reconciler = reconciler
        self._policy_push = policy_push
        self._task_queue = task_queue
        self._metadata = metadata
        self._position: int | None = None
        self._loaded = asyncio.Event()

    async def loaded(self) -> None:
        """Return once `run` knows all sandboxes."""
        await self._loaded.wait()

    async def run(self) -> None:
        """Take over what is appended, until cancelled."""
        while True:
            pause = LOOK_SECONDS
            try:
                if self._position is None:
                    self._position = await self._load()
                    self._loaded.set()
                while await self._look(self._position):
                    pass
            except AtollError as error:
                _log.warning("replicas_not_watched", reason=error.message)
                pause = AGAIN_SECONDS
            clock = self._ground.clock
            await clock.sleep_until(clock.now() + timedelta(seconds=pause))

    async def _load(self) -> int:
        """Take over all sandboxes. Returns the position from which on they are watched."""
        async with self._ground.store.read() as rows:
            # Before the sandboxes: what is appended meanwhile is seen twice, not never.
            position = await rows.events.last_position()
            for sandbox in await rows.sandboxes.unfinished():
                self._take_over(sandbox)
        return position

    async def _look(self, position: int) -> bool:
        """Take over one page. Returns whether there may be more."""
        async with self._ground.store.read() as rows:
            if await rows.events.last_position() == position:
                return False
            events = await rows.events.after(position, PAGE)
            changed = dict.fromkeys(
                SandboxId(event.stream.removeprefix(SANDBOX_STREAMS))
                for event in events
                if event.stream.startswith(SANDBOX_STREAMS)
            )
            sandboxes = [await rows.sandboxes.get(sandbox_id) for sandbox_id in changed]
        for sandbox in sandboxes:
            if sandbox is not None:
                self._take_over(sandbox)
        if events:
            self._position = events[-1].position
        self._ground.bus.announce(dict.fromkeys(event.stream for event in events))
        if self._ground.leadership.leads:
            await self._push(events)
        return len(events) == PAGE

    def _take_over(self, sandbox: Sandbox) -> None:
        known = self._directory.known_by(sandbox.id)
        if known is None or known.updated_at <= sandbox.updated_at:
            self._directory.put(sandbox)
        if sandbox.state in RUNNING:
            # Another replica may have sent a policy, which a later one has to take back.
            self._policy_push.adopt(sandbox)
        if self._ground.leadership.leads:
            self._reconciler.follow(sandbox, ())
            self._metadata.note(sandbox)
            if sandbox.state is State.REQUESTED and is_queued(sandbox):
                self._task_queue.note()

    async def _push(self, events: list[Event]) -> None:
        """Push policies that another replica may have pushed to some runtimes only."""
        for org_id in {
            event.org_id for event in events if event.event_type.startswith(POLICY_EVENTS)
        }:
            await self._policy_push.push_changes(org_id, None)
