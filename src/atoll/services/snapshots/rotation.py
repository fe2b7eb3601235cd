"""Rotation of the snapshots that a rule has taken: the newest stay, and older ones make room.

A snapshot that goes for a newer one goes once that is whole, so one that fails costs nothing.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import structlog

from atoll.domain.errors import LimitReached
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import SYSTEM
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.snapshots.snapshot import Snapshot
from atoll.services.snapshots.keeper import SnapshotKeeper, SnapshotRequest
from atoll.wire.words.sandboxes import SnapshotState

_log = structlog.get_logger(__name__)


class SnapshotRotation:
    """Taker of the snapshots of one rule, which tells of each sandbox once that the organization's
    bound leaves no room for them."""

    def __init__(self, keeper: SnapshotKeeper) -> None:
        self._keeper = keeper
        self._refused: set[SandboxId] = set()

    def forget_others(self, known: Collection[SandboxId]) -> None:
        """Forget what was told of sandboxes other than these."""
        self._refused.intersection_update(known)

    async def take(
        self, sandbox: Sandbox, request: SnapshotRequest, taken: Sequence[Snapshot], keep: int
    ) -> None:
        """Take a snapshot beside those that the rule has `taken`, oldest first, and drop all but
        the newest `keep`. Where the bound is reached, the oldest go for it, as few as make room.
        Where all would be too few it is not taken, and that is told. Raises as
        `SnapshotKeeper.take` and `drop`."""
        ready = [each for each in taken if each.state is SnapshotState.READY]
        try:
            outdated = await self._keeper.find_outdated(sandbox, ready)
        except LimitReached as error:
            await self._tell_once(sandbox, request, error.message)
            return
        going = tuple(each.id for each in outdated)
        made = await self._keeper.take(sandbox, replace(request, instead_of=going), SYSTEM)
        self._refused.discard(sandbox.id)
        for snapshot in outdated:
            await self._keeper.drop(snapshot, SYSTEM)
        left = [each for each in taken if each.id not in going]
        await self._keeper.drop_oldest([*left, made], keep)

    async def _tell_once(self, sandbox: Sandbox, request: SnapshotRequest, reason: str) -> None:
        if sandbox.id in self._refused:
            return
        self._refused.add(sandbox.id)
        _log.warning("snapshots_have_no_room", sandbox=sandbox.id, reason=reason)
        await self._keeper.note_refusal(sandbox, request, reason)
