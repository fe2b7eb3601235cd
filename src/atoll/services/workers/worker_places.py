"""The places of workers: a person's own desktop while it is linked, else a sandbox.

One host for the driver of workers. Where a worker is, is decided when its epoch begins, by its
route. The id of its place says so while it runs; before and after that, its lease.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from atoll.domain.errors import Failed
from atoll.domain.ids import SANDBOX_ID, RouteId, SandboxId
from atoll.domain.routes.decision import Decision, refusal
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.workers.create import CreateWorker
from atoll.domain.workers.desktop import Desktop
from atoll.domain.workers.dialled import HostLease
from atoll.domain.workers.ledger import Receipt, WorkerRequest
from atoll.domain.workers.lifecycle import DurabilityMarkers, WorkerTornDown
from atoll.domain.workers.placement import desktop_of
from atoll.domain.workers.record import WorkerRecord
from atoll.ports.outside.worker_host import HostDeltas, HostEntry, HostPlace, LiveHost, WorkerHost
from atoll.services.ground import Ground
from atoll.services.workers.admission import PlacementDecisions
from atoll.services.workers.desktop_deltas import DesktopDeltas
from atoll.services.workers.runtime_host import owner_of, wanted_sandbox
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.workers import WorkerStatus

AWAY: Final = "Its files are on your desktop {name}, where `atoll desktop run` does not run now."


class SandboxHost(WorkerHost, LiveHost, Protocol):
    """The host of workers in sandboxes, whose agents are heard live."""


class DesktopLeases(WorkerHost, Protocol):
    """The host of workers on desktops, which are given a worker first."""

    async def grant(self, worker: WorkerRecord, desktop: Desktop, *, route: RouteId | None) -> None:
        """Give a desktop the lease on a worker in its epoch, by this decision. Idempotent."""
        ...

    async def withdraw(self, worker: WorkerRecord) -> None:
        """End the leases on a worker that goes elsewhere."""
        ...

    async def forget(self, worker: WorkerRecord) -> None:
        """Remove what is left of the leases on a worker."""
        ...

    async def follow(self, worker: WorkerRecord) -> None:
        """Have the desktop deliver pieces of text for a while. Raises `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A desktop, and the decision that chose it."""

    desktop: Desktop
    decision: Decision


class WorkerPlaces:
    """The `ports.outside.worker_host.WorkerHost` of both places."""

    def __init__(
        self,
        ground: Ground,
        placing: PlacementDecisions,
        *,
        runtime: SandboxHost,
        desktop: DesktopLeases,
        deltas: DesktopDeltas,
    ) -> None:
        self._ground = ground
        self._placing = placing
        self._runtime = runtime
        self._desktop = desktop
        self._deltas = deltas

    async def provision(self, worker: WorkerRecord) -> HostPlace:
        """See the port."""
        async with self._ground.store.read() as rows:
            newest = await rows.host_leases.newest(worker.key)
        if newest is not None and newest.epoch == worker.worker.epoch:
            return await self._desktop.provision(worker)
        chosen = await self._choose(worker, newest)
        if chosen is None:
            if newest is not None:
                await self._desktop.withdraw(worker)
            return await self._runtime.provision(worker)
        route = await self._record(worker, chosen.decision, chosen.desktop.id)
        await self._desktop.grant(worker, chosen.desktop, route=route)
        return await self._desktop.provision(worker)

    async def start_agent(self, worker: WorkerRecord) -> str:
        """See the port. The id of its place says which one that is."""
        if str(worker.sandbox_id).startswith(SANDBOX_ID):
            return await self._runtime.start_agent(worker)
        return await (await self._host(worker)).start_agent(worker)

    async def request(
        self, worker: WorkerRecord, request: WorkerRequest, *, wait_ms: int
    ) -> Receipt | None:
        """See the port."""
        return await (await self._host(worker)).request(worker, request, wait_ms=wait_ms)

    async def stream(
        self, worker: WorkerRecord, after: int, *, wait_seconds: int
    ) -> Sequence[HostEntry]:
        """See the port."""
        host = await self._host(worker)
        return await host.stream(worker, after, wait_seconds=wait_seconds)

    @asynccontextmanager
    async def live(self, worker: WorkerRecord) -> AsyncIterator[AsyncIterator[HostDeltas]]:
        """See `LiveHost`."""
        if await self._on_desktop(worker):
            async with self._deltas.follow(worker, self._desktop.follow) as deltas:
                yield deltas
            return
        async with self._runtime.live(worker) as deltas:
            yield deltas

    async def lost_reason(self, worker: WorkerRecord) -> str | None:
        """See the port."""
        return await (await self._host(worker)).lost_reason(worker)

    async def quiet(self, worker: WorkerRecord) -> None:
        """See the port."""
        await (await self._host(worker)).quiet(worker)

    async def stop(self, worker: WorkerRecord) -> DurabilityMarkers:
        """See the port."""
        return await (await self._host(worker)).stop(worker)

    async def teardown(self, worker: WorkerRecord) -> WorkerTornDown:
        """See the port."""
        if await self._on_desktop(worker):
            return await self._desktop.teardown(worker)
        report = await self._runtime.teardown(worker)
        await self._desktop.forget(worker)
        return report

    async def _host(self, worker: WorkerRecord) -> WorkerHost:
        return self._desktop if await self._on_desktop(worker) else self._runtime

    async def _on_desktop(self, worker: WorkerRecord) -> bool:
        if worker.worker.status is WorkerStatus.RUNNING and worker.sandbox_id is not None:
            # A worker runs once the place of its epoch is stored.
            return desktop_of(worker.sandbox_id) is not None
        async with self._ground.store.read() as rows:
            return await rows.host_leases.get(worker.key, worker.worker.epoch) is not None

    async def _choose(self, worker: WorkerRecord, before: HostLease | None) -> _Chosen | None:
        """Return the desktop that takes a worker, None for a sandbox. `before` is its last lease on
        one. Raises `Failed` where only a desktop may."""
        created = worker.created
        if not _asks_for_desktops(created):
            return None
        async with self._ground.store.read() as rows:
            mine = await rows.desktops.of(worker.org_id, worker.owner)
        now = self._ground.clock.now()
        if not created.on_desktop and not any(desktop.is_there(now) for desktop in mine):
            return None
        decision = await self._placing.place_worker(
            owner_of(worker),
            wanted_sandbox(created, worker.failed),
            walled=created.profile is not None,
        )
        chosen = decision.chosen
        if chosen is None or chosen.extension != DESKTOP:
            if created.on_desktop:
                raise Failed(refusal(decision))
            return None
        fit = {candidate.host for candidate in decision.fit if candidate.extension == DESKTOP}
        former = next(
            (desktop for desktop in mine if before and desktop.id == before.desktop_id), None
        )
        if former is not None and former.name not in fit and created.on_desktop:
            raise Failed(AWAY.format(name=former.name))
        name = chosen.host if former is None or former.name not in fit else former.name
        desktop = next((desktop for desktop in mine if desktop.name == name), None)
        return None if desktop is None else _Chosen(desktop, decision)

    async def _record(self, worker: WorkerRecord, decision: Decision, place: str) -> RouteId:
        """Store a decision, as those of sandboxes are."""
        record = RouteRecord(
            RouteId(self._ground.ids.new("rt")),
            SandboxId(place),
            worker.org_id,
            worker.owner,
            self._ground.clock.now(),
            decision,
        )
        async with self._ground.store.begin() as rows:
            await rows.routes.put(record)
        return record.id


def _asks_for_desktops(created: CreateWorker) -> bool:
    """Report whether a desktop may take a worker at all."""
    return created.only_mode is not ExecutionMode.SANDBOX
