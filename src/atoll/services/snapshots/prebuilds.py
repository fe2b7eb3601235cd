"""Prebuilds: the disks of sandboxes whose set-up has just succeeded, kept for those that would run
the same one again.

A person's prebuilds are theirs alone, and no list shows them. Whatever keeps one from being made is
said in the sandbox's log: the next sandbox runs its set-up then.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.prebuild import (
    LIFE_SECONDS,
    barrier_to_keeping,
    find_prebuild,
    prebuild_of,
    surplus_prebuilds,
)
from atoll.domain.snapshots.snapshot import Prebuild, Snapshot
from atoll.ports import LogLine, RuntimeClient, StoreUnavailable, Transaction
from atoll.services.ground import Ground
from atoll.services.provisioning.steps.prebuild import PrebuiltTrees
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.wire.words.library import ProjectDecision
from atoll.wire.words.sandboxes import SnapshotState

NAMED: Final = 12
"""Characters of a key that a snapshot's name has."""

_log = structlog.get_logger(__name__)


class Prebuilds:
    """Prebuilds of all people."""

    def __init__(self, ground: Ground, keeper: SnapshotKeeper, trees: PrebuiltTrees) -> None:
        self._ground = ground
        self._keeper = keeper
        self._trees = trees
        self._began = ground.clock.now()

    async def find(self, sandbox: Sandbox, keys: Sequence[str]) -> Snapshot | None:
        """Return the snapshot that a sandbox may begin as, by the first key that has one, and note
        its use."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            there = await rows.snapshots.prebuilds(sandbox.org_id, sandbox.owner)
            usable = (find_prebuild(sandbox, key, there, now) for key in keys)
            prebuilt = next((each for each in usable if each is not None), None)
            if prebuilt is not None and prebuilt.prebuild is not None:
                await rows.snapshots.put(
                    replace(prebuilt, prebuild=replace(prebuilt.prebuild, used_at=now))
                )
        return prebuilt

    async def reject(self, snapshot: Snapshot) -> None:
        """Drop a snapshot that no sandbox could begin as. The leader does what is left of it."""
        async with self._ground.store.begin() as rows:
            await rows.snapshots.put(replace(snapshot, state=SnapshotState.REMOVING))

    async def keep(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep the disk of a sandbox whose set-up has just succeeded, or say in its log why it is
        not kept. Raises `StoreUnavailable`."""
        try:
            text = await self._keep(sandbox, client)
        except StoreUnavailable:
            raise
        except AtollError as error:
            text = f"The set-up is not kept for later sandboxes: {error.message}"
        if text is not None:
            line = LogLine(self._ground.clock.now(), text)
            async with self._ground.store.begin() as rows:
                await rows.logs.append(sandbox, (line,))

    async def drop_unwanted(self) -> None:
        """Drop the prebuilds of set-ups that nobody approves any more."""
        async with self._ground.store.read() as rows:
            unwanted = [
                each
                for each in await rows.snapshots.prebuilds()
                if each.state is SnapshotState.READY
                and each.prebuild is not None
                and not await _is_approved(rows, each, each.prebuild)
            ]
        for snapshot in unwanted:
            await self._drop(snapshot)

    async def _keep(self, sandbox: Sandbox, client: RuntimeClient) -> str | None:
        """Return what came of it; None where one was kept before."""
        async with self._ground.store.read() as rows:
            current = await rows.sandboxes.get(sandbox.id)
            there = await rows.snapshots.prebuilds(sandbox.org_id, sandbox.owner)
            shared = await rows.shares.of(sandbox.id)
        now = self._ground.clock.now()
        project = None if current is None else current.project
        if current is None or project is None:
            return None
        barrier = barrier_to_keeping(current)
        if barrier is not None:
            return f"The set-up is not kept for later sandboxes: {barrier}."
        if shared:
            return "The set-up is not kept for later sandboxes: a link led in."
        if current.ready_at is None or current.ready_at < self._began:
            return "The set-up is not kept for later sandboxes: it ended while nobody looked."
        use = prebuild_of(project, now)
        if find_prebuild(current, use.key, there, now) is not None:
            return None
        why = await self._trees.mark(current, client)
        if why is not None:
            return f"The set-up is not kept for later sandboxes: {why}"
        name = f"setup-{use.key[:NAMED]}"
        request = SnapshotRequest(name=name, ttl_seconds=LIFE_SECONDS, prebuild=use)
        made = await self._keeper.take(current, request, SYSTEM)
        ready = [each for each in there if each.state is SnapshotState.READY]
        for snapshot in surplus_prebuilds([*ready, made]):
            await self._drop(snapshot)
        return "The set-up is kept: later sandboxes of this repository begin with what it left."

    async def _drop(self, snapshot: Snapshot) -> None:
        try:
            await self._keeper.drop(snapshot, SYSTEM)
        except AtollError as error:
            _log.warning("prebuild_not_dropped", id=snapshot.id, reason=error.message)


async def _is_approved(rows: Transaction, snapshot: Snapshot, prebuild: Prebuild) -> bool:
    decided = await rows.projects.of(snapshot.org_id, snapshot.owner, prebuild.repository)
    return any(
        each.digest == prebuild.digest and each.decision is ProjectDecision.APPROVED
        for each in decided
    )
