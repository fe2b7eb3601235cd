"""The intake of what dialled hosts deliver: each item once, in order, by the lease's token alone.

Items are kept as entries of the host; its stream takes them into the log (`driving`). A batch
without items is a heartbeat. Heartbeats are noted in memory, and all of a second are stored in one
transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import Forbidden, NotFound
from atoll.domain.ids import WorkerKey
from atoll.domain.people.principal import Principal, WorkerAccess
from atoll.domain.workers.dialled import (
    HostLease,
    apply_receipt,
    check_lease,
    delivery_stream,
)
from atoll.domain.workers.ingest import Batch, take_batch
from atoll.ports import StoreUnavailable, Transaction
from atoll.ports.outside.worker_host import HostDeltas, HostEntry
from atoll.services.ground import Ground
from atoll.services.workers.desktop_deltas import DesktopDeltas

TICK: Final = timedelta(seconds=1)
MOST_WAITING: Final = 5000
MOST_CHARACTERS: Final = 64 * 1024 * 1024
"""The entries of one worker that no stream has taken yet, and their characters. Beyond it nothing
is taken, and the host tries again."""
FEW_WAITING: Final = 8
"""Entries that are too few to be too much."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class HostBatch:
    """Items of a host in an epoch. `first` is the number of the first one; their own are 0.
    `deltas` are pieces of text, which followers see and nobody keeps."""

    epoch: int
    first: int
    items: Sequence[HostEntry]
    deltas: Sequence[HostDeltas] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """The number that is expected next, and how many items were taken."""

    expected: int
    taken: int = 0


class HostIntake:
    """Deliveries of hosts, and the heartbeats in them."""

    def __init__(self, ground: Ground, deltas: DesktopDeltas) -> None:
        self._ground = ground
        self._deltas = deltas
        self._heard: dict[tuple[WorkerKey, int], datetime] = {}

    async def deliver(self, caller: Principal, worker_id: str, batch: HostBatch) -> Taken:
        """Take what is new in a batch. Raises `Forbidden` for a caller that is no host, `NotFound`
        for another worker than its own, `Conflict`, code `stale_lease`, once its lease has ended,
        and `Invalid`."""
        access = _access(caller, worker_id)
        if not batch.items:
            async with self._ground.store.read() as rows:
                lease = await _lease(rows, access, batch.epoch)
            take_batch(lease.source, Batch(batch.epoch, batch.first, 0))
            self._deltas.publish(lease, batch.deltas)
            self._heard[access.key, access.epoch] = self._ground.clock.now()
            return Taken(lease.source.expected)
        async with self._ground.store.begin() as rows:
            lease = await _lease(rows, access, batch.epoch)
            taken = await self._take(rows, lease, batch)
        self._deltas.publish(lease, batch.deltas)
        self._ground.bus.announce((delivery_stream(access.key),))
        return taken

    async def run(self) -> None:
        """Store the heartbeats of each second, until cancelled."""
        clock = self._ground.clock
        while True:
            await clock.sleep_until(clock.now() + TICK)
            try:
                await self.store()
            except StoreUnavailable as err:
                _log.warning("contacts_wait_for_store", reason=err.message)

    async def store(self) -> None:
        """Store the heartbeats since the last call, in one transaction. Raises
        `StoreUnavailable`; then the next call stores them."""
        heard = dict(self._heard)
        if not heard:
            return
        async with self._ground.store.begin() as rows:
            for (key, epoch), at in heard.items():
                lease = await rows.host_leases.get(key, epoch)
                if lease is not None and (lease.heard_at is None or lease.heard_at < at):
                    await rows.host_leases.put(replace(lease, heard_at=at))
        for place, at in heard.items():
            if self._heard.get(place) == at:
                del self._heard[place]
        self._ground.bus.announce([delivery_stream(key) for key, _ in heard])

    async def _take(self, rows: Transaction, lease: HostLease, batch: HostBatch) -> Taken:
        intake = take_batch(lease.source, Batch(batch.epoch, batch.first, len(batch.items)))
        now = self._ground.clock.now()
        if intake.taken and await _is_full(rows, lease):
            await rows.host_leases.put(replace(lease, heard_at=now))
            return Taken(lease.source.expected)
        fresh = batch.items[intake.skip : intake.skip + intake.taken]
        numbered = [
            replace(entry, n=lease.received + place, at=now) for place, entry in enumerate(fresh, 1)
        ]
        await rows.host_entries.add(lease.key, lease.epoch, numbered)
        after = replace(lease, received=lease.received + len(numbered), heard_at=now)
        for entry in numbered:
            if entry.receipt is not None:
                after = apply_receipt(after, entry.request_id, entry.receipt)
                await rows.host_offers.remove(lease.key, lease.epoch, entry.request_id)
        await rows.host_leases.put(after)
        return Taken(intake.source.expected, intake.taken)


def check_host(caller: Principal) -> WorkerAccess:
    """Return what the host of a worker may do. Raises `Forbidden` for everybody else."""
    access = None if caller.token is None else caller.token.worker
    if access is None:
        raise Forbidden("Only the host of a worker delivers for it, by the token of its lease.")
    return access


def _access(caller: Principal, worker_id: str) -> WorkerAccess:
    access = check_host(caller)
    if access.worker_id != worker_id:
        raise NotFound(f"There is no worker {worker_id[:80]!r} here.")
    return access


async def _lease(rows: Transaction, access: WorkerAccess, epoch: int) -> HostLease:
    record = await rows.workers.get(access.key)
    lease = await rows.host_leases.get(access.key, access.epoch)
    current = access.epoch if record is None else record.worker.epoch
    return check_lease(lease, current, epoch)


async def _is_full(rows: Transaction, lease: HostLease) -> bool:
    """Report whether too much waits."""
    oldest = await rows.host_entries.page(lease.key, lease.epoch, 0, 1)
    waiting = lease.received - oldest[0].n + 1 if oldest else 0
    if waiting > FEW_WAITING:
        size = await rows.host_entries.size(lease.key, lease.epoch)
        return waiting > MOST_WAITING or size >= MOST_CHARACTERS
    return False
