"""Snapshots that profiles have taken after turns of agents.

What agents report is read from the log, so no agent waits for this. Turns that end in a sandbox
while one of it is taken are kept as one afterwards: nothing queues. A turn that could not be kept
waits for the next one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import CheckpointRule
from atoll.domain.sandboxes.reported import AGENTS, ReportedAgent, read_agents
from atoll.domain.sandboxes.sandbox import RUNNING, Sandbox
from atoll.domain.snapshots.turns import (
    AgentTurn,
    TurnCounts,
    count_turns,
    find_ended_turn,
    find_last_turn,
)
from atoll.services.ground import Ground
from atoll.services.lifecycle.directory import Directory
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.services.snapshots.rotation import SnapshotRotation
from atoll.wire.words.sandboxes import CheckpointEnd

LOOK_EVERY: Final = timedelta(seconds=1)

AT_ONCE: Final = 4
"""Snapshots of different sandboxes that are taken at the same time."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Due:
    """A sandbox in which a turn ended, and when that was over at the latest."""

    sandbox: Sandbox
    turn: AgentTurn
    ended_at: datetime


class TurnSnapshots:
    """The leader's look at agents of sandboxes whose profile has turns kept."""

    def __init__(self, ground: Ground, directory: Directory, keeper: SnapshotKeeper) -> None:
        self._ground = ground
        self._directory = directory
        self._keeper = keeper
        self._rotation = SnapshotRotation(keeper)
        self._counts: dict[SandboxId, TurnCounts] = {}

    async def run(self) -> None:
        """Look at intervals, until cancelled."""
        clock = self._ground.clock
        while True:
            try:
                await self.look()
            except AtollError as error:
                _log.warning("turns_not_looked_at", reason=error.message)
            await clock.sleep_until(clock.now() + LOOK_EVERY)

    async def look(self) -> None:
        """Take a snapshot of each sandbox that runs, and in which a turn has ended since the last
        look. At the first one it is a turn that no snapshot has kept yet."""
        wanted = [each for each in self._directory.known() if _keeps_turns(each)]
        known = {each.id for each in wanted}
        # One that sleeps is compared with what it was, once it runs again.
        self._counts = {id_: counts for id_, counts in self._counts.items() if id_ in known}
        self._rotation.forget_others(known)
        running = [each for each in wanted if each.state in RUNNING]
        due = self._find_due(running, await self._read_agents(running))
        slots = asyncio.Semaphore(AT_ONCE)
        async with asyncio.TaskGroup() as tasks:
            for each in due:
                tasks.create_task(self._keep_turn(each, slots))

    def _find_due(
        self, sandboxes: Sequence[Sandbox], agents: Mapping[SandboxId, Sequence[ReportedAgent]]
    ) -> list[_Due]:
        now, due = self._ground.clock.now(), []
        for sandbox in sandboxes:
            reported, before = agents[sandbox.id], self._counts.get(sandbox.id)
            self._counts[sandbox.id] = count_turns(reported)
            if before is None:
                last = find_last_turn(reported, now)
            else:
                turn = find_ended_turn(reported, before)
                last = None if turn is None else (turn, now)
            if last is not None:
                due.append(_Due(sandbox, *last))
        return due

    async def _read_agents(
        self, sandboxes: Sequence[Sandbox]
    ) -> Mapping[SandboxId, Sequence[ReportedAgent]]:
        if not sandboxes:
            return {}
        streams = {each.id: sandbox_stream(each.id) for each in sandboxes}
        async with self._ground.store.read() as rows:
            states = await rows.projections.states(AGENTS.name, tuple(streams.values()))
        bodies = {id_: states.get(stream) for id_, stream in streams.items()}
        return {id_: read_agents(state.body if state else None) for id_, state in bodies.items()}

    async def _keep_turn(self, due: _Due, slots: asyncio.Semaphore) -> None:
        """Take the snapshot, unless a newer one has the files of that turn, and drop the oldest."""
        try:
            async with slots:
                async with self._ground.store.read() as rows:
                    taken = await rows.snapshots.automatic(due.sandbox.id)
                turns, keep = [each for each in taken if each.turn], _keep_of(due.sandbox)
                if any(each.created_at >= due.ended_at for each in taken):
                    await self._keeper.drop_oldest(turns, keep)
                else:
                    request = SnapshotRequest(automatic=True, turn=due.turn)
                    await self._rotation.take(due.sandbox, request, turns, keep)
        except AtollError as error:
            _log.warning("turn_not_kept", sandbox=due.sandbox.id, reason=error.message)


def _keep_of(sandbox: Sandbox) -> int:
    return (sandbox.profile.checkpoint or CheckpointRule()).keep


def _keeps_turns(sandbox: Sandbox) -> bool:
    rule = sandbox.profile.checkpoint
    return rule is not None and CheckpointEnd.TURN in rule.ends
