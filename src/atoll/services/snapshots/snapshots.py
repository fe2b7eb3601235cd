"""Snapshots: sandboxes' disks as they were, kept where their backend keeps them.

A row says first that one is being made or removed; the work is the leader's. What was interrupted
is dropped: a snapshot is ready and whole, or there is none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import structlog

from atoll.domain.errors import AtollError, LimitReached, NotFound, Unavailable
from atoll.domain.event import Json, sandbox_stream
from atoll.domain.ids import SandboxId, SnapshotId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.principal import SYSTEM, Principal
from atoll.domain.sandboxes.sandbox import LIVE, Sandbox, check_may_manage, check_not_gone
from atoll.domain.snapshots.promise import SnapshotPromise, check_promise
from atoll.domain.snapshots.snapshot import (
    Snapshot,
    check_may_remove,
    snapshot_of,
)
from atoll.ports import Extension, Transaction
from atoll.ports.extension import KEEP_SNAPSHOTS, Examines, KeepsSnapshots, KeptDisk
from atoll.services.contents.contents import forget_content
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.lifecycle.snapshots import find_snapshot, find_usable_snapshot
from atoll.services.provisioning.provisioning import handle_of
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.wire.words.sandboxes import (
    MAX_SNAPSHOTS,
    MemoryMode,
    SnapshotMode,
    SnapshotState,
)

MADE_WITHIN: Final = timedelta(minutes=15)
"""The time after which one that is still being made was interrupted."""

LEADER_SECONDS: Final = 600.0
LOOK_SECONDS: Final = 0.2

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """A request for a snapshot; `ttl_seconds` None keeps it until it is removed."""

    name: str | None = None
    ttl_seconds: int | None = None
    mode: SnapshotMode = SnapshotMode.FILESYSTEM
    memory: MemoryMode = MemoryMode.AUTO
    automatic: bool = False


class Snapshots:
    """Use cases on snapshots. A `ref` of one is its id, or the name of one of the caller's; one
    that the caller may not see is `NotFound`, like one that is missing."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Sandboxes,
        extensions: Mapping[str, Extension],
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._extensions = extensions

    async def take(
        self,
        caller: Principal,
        ref: str,
        request: SnapshotRequest,
        *,
        for_forks: bool = False,
    ) -> Snapshot:
        """Keep a sandbox's disk as it is now, and return it once that is done. Raises `Conflict`
        for what its backend does not promise, and for a sandbox without a disk; `LimitReached`;
        what the backend raises: nothing is kept then."""
        sandbox = await self._sandboxes.get(caller, ref)
        if not for_forks:
            check_may_manage(caller, sandbox)
        return await self.take_of(sandbox, request, caller, for_forks=for_forks)

    async def take_of(
        self,
        sandbox: Sandbox,
        request: SnapshotRequest,
        caller: Principal,
        *,
        for_forks: bool = False,
    ) -> Snapshot:
        """Do the same for a caller who may; who that is was judged before."""
        check_not_gone(sandbox, "kept as a snapshot")
        await self._examine(sandbox)
        promise = self._promise(sandbox, request)
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            made = snapshot_of(
                await rows.sandboxes.get(sandbox.id) or sandbox,
                snapshot_id=SnapshotId(self._ground.ids.new("snap")),
                name=request.name,
                disk=promise.disk,
                now=now,
                ttl_seconds=request.ttl_seconds,
                for_forks=for_forks,
            )
            held = await rows.snapshots.count(made.org_id, made.owner)
            if held >= MAX_SNAPSHOTS and not (for_forks or request.automatic):
                raise LimitReached(
                    f"{held} snapshots are kept for this person, which is the most: remove one "
                    "(`atoll snapshot rm`)",
                    code="limit_reached",
                )
            made = replace(made, automatic=request.automatic)
            await rows.snapshots.put(made)
        if self._ground.leadership.leads:
            return await self.keep(made, caller)
        return await self._await_leader(made)

    async def list(
        self, caller: Principal, page: PageQuery, *, ref: str | None = None
    ) -> RowPage[Snapshot]:
        """Return a page of snapshots that the caller may see, newest first; with `ref` those of a
        sandbox, which may be gone."""
        if caller.token is not None and caller.token.sandbox_id is not None:
            return RowPage(())
        sandbox_id = None if ref is None else await self._sandbox_id(caller, ref)
        async with self._ground.store.read() as rows:
            return await rows.snapshots.page(caller.org_id, caller.id, page, sandbox_id=sandbox_id)

    async def get(self, caller: Principal, ref: str) -> Snapshot:
        """Return a snapshot."""
        async with self._ground.store.read() as rows:
            return await find_snapshot(rows, caller, ref)

    async def usable(self, caller: Principal, ref: str) -> Snapshot:
        """Return a snapshot that a sandbox of the caller's may be as. Raises `Conflict`,
        `Forbidden`."""
        async with self._ground.store.read() as rows:
            return await find_usable_snapshot(rows, caller, ref)

    async def remove(self, caller: Principal, ref: str) -> None:
        """Remove a snapshot; sandboxes that began as it keep their files. Raises `Forbidden`, and
        what the backend raises: its removal is tried again then."""
        async with self._ground.store.begin() as rows:
            snapshot = await find_snapshot(rows, caller, ref)
            check_may_remove(caller, snapshot)
            going = replace(snapshot, state=SnapshotState.REMOVING)
            await rows.snapshots.put(going)
        if self._ground.leadership.leads:
            await self.drop(going, caller)

    async def keep(self, made: Snapshot, actor: Principal) -> Snapshot:
        """Have the backend keep a snapshot that is being made, and store that it is ready."""
        extension = self._keeper(made.source)
        try:
            disk = await extension.keep_snapshot(handle_of(made.source), made.id)
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

    async def _await_leader(self, made: Snapshot) -> Snapshot:
        """Return a snapshot once the leader has made it. Raises `Unavailable`."""
        clock = self._ground.clock
        until = clock.now() + timedelta(seconds=LEADER_SECONDS)
        while clock.now() < until:
            await clock.sleep_until(clock.now() + timedelta(seconds=LOOK_SECONDS))
            async with self._ground.store.read() as rows:
                there = await rows.snapshots.get(made.id)
            if there is None:
                raise Unavailable("The snapshot could not be made: its events say why.")
            if there.state is SnapshotState.READY:
                return there
        raise Unavailable("The snapshot is still being made: list them later.")

    async def _sandbox_id(self, caller: Principal, ref: str) -> SandboxId:
        try:
            return (await self._sandboxes.get(caller, ref)).id
        except NotFound:
            return SandboxId(ref)

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


class SnapshotUpkeep:
    """The leader's look at snapshots: it makes what replicas ask for, and drops what is over."""

    def __init__(self, ground: Ground, snapshots: Snapshots) -> None:
        self._ground = ground
        self._snapshots = snapshots
        self._began = ground.clock.now()

    async def run(self) -> None:
        """Look at intervals, until cancelled."""
        seconds = 1.0 if self._ground.leadership.shared else 30.0
        clock = self._ground.clock
        while True:
            try:
                await self.look()
            except AtollError as error:
                _log.warning("snapshots_not_looked_at", reason=error.message)
            await clock.sleep_until(clock.now() + timedelta(seconds=seconds))

    async def look(self) -> None:
        """See to every snapshot that is not settled."""
        async with self._ground.store.read() as rows:
            unsettled = await rows.snapshots.unsettled(self._ground.clock.now())
        for snapshot in unsettled:
            try:
                await self._see_to(snapshot)
            except AtollError as error:
                _log.warning("snapshot_not_settled", id=snapshot.id, reason=error.message)

    async def _see_to(self, snapshot: Snapshot) -> None:
        if snapshot.state is SnapshotState.MAKING and not self._is_interrupted(snapshot):
            if self._ground.leadership.shared:
                await self._snapshots.keep(snapshot, SYSTEM)
            return
        if not await self._is_wanted(snapshot):
            await self._snapshots.drop(snapshot, SYSTEM)

    def _is_interrupted(self, snapshot: Snapshot) -> bool:
        """Return whether nobody makes a snapshot any more: it is old, or its only control plane is
        another process by now."""
        began, shared = snapshot.created_at, self._ground.leadership.shared
        old = self._ground.clock.now() - began >= MADE_WITHIN
        return old or (not shared and began < self._began)

    async def _is_wanted(self, snapshot: Snapshot) -> bool:
        """Return whether a snapshot of a fork has still copies to make: they are not all known yet,
        or one has not begun."""
        if snapshot.forks is None or snapshot.state is not SnapshotState.READY:
            return False
        if not snapshot.forks:
            now = self._ground.clock.now()
            return snapshot.expires_at is not None and now < snapshot.expires_at
        async with self._ground.store.read() as rows:
            forks = [await rows.sandboxes.get(fork) for fork in snapshot.forks]
        return any(fork is not None and _is_to_begin(fork) for fork in forks)


def _is_to_begin(sandbox: Sandbox) -> bool:
    return sandbox.ready_at is None and sandbox.state in LIVE
