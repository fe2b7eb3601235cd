"""The keeping of sandboxes' disks by their backends, and its record.

A row says first that a snapshot is being made or removed; the work is the leader's. What was
interrupted is dropped: a snapshot is ready and whole, or there is none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from atoll.domain.errors import AtollError, LimitReached, NotFound, Unavailable
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.ids import SnapshotId
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import Sandbox, check_not_gone
from atoll.domain.snapshots.promise import SnapshotPromise, check_promise
from atoll.domain.snapshots.snapshot import (
    Prebuild,
    Snapshot,
    check_disk_bound,
    check_runs,
    find_outdated,
    snapshot_of,
)
from atoll.domain.snapshots.turns import AgentTurn
from atoll.ports import Extension, Transaction
from atoll.ports.extension import KEEP_SNAPSHOTS, Examines, KeepsSnapshots, KeptDisk
from atoll.services.contents.contents import forget_content
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.provisioning.provisioning import handle_of
from atoll.wire.words.sandboxes import MAX_SNAPSHOTS, MemoryMode, SnapshotMode, SnapshotState

LEADER_SECONDS: Final = 600.0
LOOK_SECONDS: Final = 0.2

MAX_REFUSALS: Final = 1000
"""Snapshots given up since one was asked for, among which its own is looked for."""


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A request for a snapshot; `ttl_seconds` None keeps it until it is removed. `prebuild`
    is the use of one that is taken after a set-up, `turn` the agent's turn that it is taken after,
    while the sandbox runs. Those that it is taken `instead_of` count against no bound: they go."""

    name: str | None = None
    ttl_seconds: int | None = None
    mode: SnapshotMode = SnapshotMode.FILESYSTEM
    memory: MemoryMode = MemoryMode.AUTO
    automatic: bool = False
    prebuild: Prebuild | None = None
    turn: AgentTurn | None = None
    instead_of: tuple[SnapshotId, ...] = ()


class SnapshotKeeper:
    """Keeper of snapshots, for callers who may."""

    def __init__(
        self, ground: Ground, extensions: Mapping[str, Extension], *, most_bytes: int = 0
    ) -> None:
        """`most_bytes`: what all snapshots of an organization may take; 0 is no bound."""
        self._ground = ground
        self._extensions = extensions
        self._making: set[SnapshotId] = set()
        self._most_bytes = most_bytes

    async def take(
        self,
        sandbox: Sandbox,
        request: SnapshotRequest,
        caller: Principal,
        *,
        for_forks: bool = False,
    ) -> Snapshot:
        """Keep a sandbox's disk as it is now, and return it once that is done. Who may was judged
        before. Raises `Conflict` for what its backend does not promise, and for a sandbox without a
        disk; `LimitReached`; what the backend raises: nothing is kept then."""
        check_not_gone(sandbox, "kept as a snapshot")
        await self._examine(sandbox)
        async with self._ground.store.read() as rows:
            position = await rows.events.last_position()
        snapshot_id = SnapshotId(self._ground.ids.new("snap"))
        # The leader's look leaves it to this task, from before the row is there.
        self._making.add(snapshot_id)
        try:
            made = await self._store(snapshot_id, sandbox, request, for_forks=for_forks)
            if self._ground.leadership.leads:
                return await self.keep(made, caller)
        finally:
            self._making.discard(snapshot_id)
        return await self._await_leader(made, position)

    def is_making(self, snapshot_id: SnapshotId) -> bool:
        """Return whether a task of this process makes a snapshot now."""
        return snapshot_id in self._making

    async def _store(
        self,
        snapshot_id: SnapshotId,
        sandbox: Sandbox,
        request: SnapshotRequest,
        *,
        for_forks: bool,
    ) -> Snapshot:
        """Store that a snapshot is being made. Raises `Conflict`, `LimitReached`."""
        promise = self._promise(sandbox, request)
        async with self._ground.store.begin() as rows:
            current = await rows.sandboxes.get(sandbox.id) or sandbox
            check_not_gone(current, "kept as a snapshot")
            if request.turn is not None:
                check_runs(current)
            made = self._describe(snapshot_id, current, request, promise, for_forks=for_forks)
            await self._check_bounds(rows, made, request.instead_of)
            await rows.snapshots.put(made)
        return made

    def _describe(
        self,
        snapshot_id: SnapshotId,
        sandbox: Sandbox,
        request: SnapshotRequest,
        promise: SnapshotPromise,
        *,
        for_forks: bool = False,
    ) -> Snapshot:
        made = snapshot_of(
            sandbox,
            snapshot_id=snapshot_id,
            name=request.name,
            disk=promise.disk,
            now=self._ground.clock.now(),
            ttl_seconds=request.ttl_seconds,
            for_forks=for_forks,
            prebuild=request.prebuild,
        )
        return replace(made, automatic=request.automatic, turn=request.turn)

    async def keep(self, made: Snapshot, actor: Principal) -> Snapshot:
        """Have the backend keep a snapshot that is being made, and store that it is ready."""
        extension = self._keeper(made.source)
        try:
            disk = await extension.keep_snapshot(
                handle_of(made.source), made.id, still_ms=made.longest_still_ms
            )
        except AtollError as error:
            await self._give_up(made, actor, error.message)
            raise
        return await self._settle(made, disk, actor)

    async def drop(self, going: Snapshot, actor: Principal) -> None:
        """Have the backend drop a snapshot, and forget it. One whose backend is gone is forgotten,
        too. Raises what the backend raises."""
        if going.extension in self._extensions:
            await self._keeper(going.source).drop_snapshot(going.id, going.source.host)
        async with self._ground.store.begin() as rows:
            there = await rows.snapshots.get(going.id)
            if there is not None and there.export is not None:
                await forget_content(rows, there.org_id, there.export.content)
            await rows.snapshots.remove(going.id)
            await self._note(rows, going, "snapshot.removed", actor)
        self._announce(going)

    async def drop_oldest(self, taken: Sequence[Snapshot], keep: int) -> None:
        """Have the backend drop all of these but the newest `keep`; the oldest comes first. Raises
        what the backend raises."""
        for snapshot in taken[:-keep]:
            await self.drop(snapshot, SYSTEM)

    async def find_outdated(
        self, sandbox: Sandbox, taken: Sequence[Snapshot]
    ) -> Sequence[Snapshot]:
        """Return the oldest of these snapshots of a sandbox, as few as must go before the
        organization's bound leaves room for another; the oldest comes first. Raises `LimitReached`
        where all of them are too few."""
        async with self._ground.store.read() as rows:
            used = await rows.snapshots.disk_use(sandbox.org_id)
        return find_outdated(used, self._most_bytes, taken)

    async def note_refusal(self, sandbox: Sandbox, request: SnapshotRequest, reason: str) -> None:
        """Append to the log that a snapshot was not begun. Raises `Conflict`."""
        promise = self._promise(sandbox, request)
        snapshot_id = SnapshotId(self._ground.ids.new("snap"))
        refused = self._describe(snapshot_id, sandbox, request, promise)
        await self._give_up(refused, SYSTEM, reason)

    def promises(self) -> dict[str, SnapshotPromise]:
        """Return what each backend promises, as far as it is known now."""
        promises: dict[str, SnapshotPromise] = {}
        for name, extension in self._extensions.items():
            try:
                promise = extension.capabilities().snapshots
            except AtollError:
                continue
            if promise is not None:
                promises[name] = promise
        return promises

    async def _check_bounds(
        self, rows: Transaction, made: Snapshot, instead_of: Sequence[SnapshotId]
    ) -> None:
        """Check that a snapshot may be made beside those that are there, without those that go for
        it. The bytes that those under way will take are not known: they may pass the bound. Raises
        `LimitReached`."""
        by_itself = made.forks is not None or made.automatic or made.prebuild is not None
        count = await rows.snapshots.count(made.org_id, made.owner)
        if count >= MAX_SNAPSHOTS and not by_itself:
            raise LimitReached(
                f"{count} snapshots are kept for this person, which is the most: remove one "
                "(`atoll snapshot rm`)",
                code="limit_reached",
            )
        used = await rows.snapshots.disk_use(made.org_id)
        for going in [await rows.snapshots.get(each) for each in instead_of]:
            used -= going.size if going is not None else 0
        largest = await rows.snapshots.largest(made.org_id, made.owner)
        check_disk_bound(used, self._most_bytes, largest)

    def _promise(self, sandbox: Sandbox, request: SnapshotRequest) -> SnapshotPromise:
        backend, promises = sandbox.profile.extension, self.promises()
        return check_promise(
            promises.get(backend), request.mode, request.memory, backend=backend, others=promises
        )

    async def _examine(self, sandbox: Sandbox) -> None:
        extension = self._extensions.get(sandbox.profile.extension)
        if isinstance(extension, Examines):
            await extension.examine()

    def _keeper(self, sandbox: Sandbox) -> KeepsSnapshots:
        extension = self._extensions.get(sandbox.profile.extension)
        able = () if extension is None else extension.capabilities().abilities
        if KEEP_SNAPSHOTS not in able or not isinstance(extension, KeepsSnapshots):
            raise Unavailable(f"{sandbox.profile.extension} keeps no snapshots any more")
        return extension

    async def _settle(self, made: Snapshot, disk: KeptDisk, actor: Principal) -> Snapshot:
        ready = replace(made, state=SnapshotState.READY, size=disk.size, still_ms=disk.still_ms)
        async with self._ground.store.begin() as rows:
            there = await rows.snapshots.get(made.id)
            if there is not None and there.state is SnapshotState.READY:
                # Who asked, and the leader's look, had it made at once: it is kept once.
                return there
            if there is None or there.state is not SnapshotState.MAKING:
                raise NotFound(f"Snapshot {made.name} was removed while it was made.")
            await rows.snapshots.put(ready)
            await self._note(rows, ready, "snapshot.taken", actor)
        self._announce(ready)
        return ready

    async def _give_up(self, made: Snapshot, actor: Principal, reason: str) -> None:
        failed = replace(made, state=SnapshotState.FAILED, reason=reason)
        async with self._ground.store.begin() as rows:
            await rows.snapshots.remove(made.id)
            await self._note(rows, failed, "snapshot.failed", actor)
        self._announce(failed)

    async def _await_leader(self, made: Snapshot, position: int) -> Snapshot:
        """Return a snapshot once the leader has made it, with `position` of the log from before it
        was asked for. Raises `Unavailable`."""
        clock = self._ground.clock
        until = clock.now() + timedelta(seconds=LEADER_SECONDS)
        while clock.now() < until:
            await clock.sleep_until(clock.now() + timedelta(seconds=LOOK_SECONDS))
            async with self._ground.store.read() as rows:
                there = await rows.snapshots.get(made.id)
                reason = None if there else await _find_refusal(rows, made, position)
            if there is None:
                raise Unavailable(f"The snapshot could not be made: {reason}.")
            if there.state is SnapshotState.READY:
                return there
        raise Unavailable("The snapshot is still being made: list them later.")

    async def _note(
        self, rows: Transaction, snapshot: Snapshot, kind: str, actor: Principal
    ) -> None:
        payload: dict[str, Json] = {
            "snapshot_id": snapshot.id,
            "sandbox_id": snapshot.source.id,
            "name": snapshot.name,
            "size": snapshot.size,
        }
        note = Note(sandbox_stream(snapshot.source.id), kind, payload, snapshot.reason)
        owner = replace(actor, org_id=snapshot.org_id, id=snapshot.owner)
        event = draft_of(
            note, owner, at=self._ground.clock.now(), event_id=self._ground.ids.event()
        )
        await rows.events.append((replace(event, actor=actor),))

    def _announce(self, snapshot: Snapshot) -> None:
        self._ground.bus.announce((sandbox_stream(snapshot.source.id),))


async def _find_refusal(rows: Transaction, made: Snapshot, position: int) -> str:
    """Return why the leader gave a snapshot up, after this position of the log."""
    failed = await rows.events.after(position, MAX_REFUSALS, kinds=frozenset({"snapshot.failed"}))
    reasons = [each.reason for each in failed if each.payload.get("snapshot_id") == made.id]
    return reasons[0] or "no reason is known" if reasons else "it was removed meanwhile"
