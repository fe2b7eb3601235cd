"""Heartbeats of workers' hosts: leases are renewed, and hosts that are silent are lost.

Heartbeats are counted in memory, and all of a second are stored in one transaction. Only a change
of the state is an event. A control plane that begins waits a whole lease before it calls a host
lost: its own absence is no silence of theirs.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import structlog

from atoll.domain.errors import Conflict
from atoll.domain.ids import WorkerKey
from atoll.domain.workers.heartbeat import Lease, heartbeat_state, renew
from atoll.domain.workers.lifecycle import HostContact, Silent
from atoll.domain.workers.record import WorkerEventDraft, WorkerRecord, worker_stream
from atoll.ports import StoreUnavailable, Transaction
from atoll.services.ground import Ground
from atoll.services.workers.transitions import WorkerTransitions
from atoll.wire.words.workers import HeartbeatState, WorkerStatus

TICK: Final = timedelta(seconds=1)
SILENCE: Final = "Its host missed three heartbeats, and may be back."

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Watched:
    """A lease as it is known here; `stored` is False while a heartbeat waits for its row."""

    lease: Lease
    shown: HeartbeatState
    stored: bool = True

    def is_due(self, now: datetime) -> bool:
        return not self.stored or self.state(now) is not self.shown

    def state(self, now: datetime) -> HeartbeatState:
        return heartbeat_state(WorkerStatus.RUNNING, self.lease, now)


class Heartbeats:
    """The leases of the workers that are followed, by key."""

    def __init__(self, ground: Ground, transitions: WorkerTransitions) -> None:
        self._ground = ground
        self._transitions = transitions
        self._watched: dict[WorkerKey, _Watched] = {}

    def watch(self, record: WorkerRecord) -> None:
        """Expect heartbeats of a worker from now on. A repetition in its epoch changes nothing."""
        known = self._watched.get(record.key)
        if known is None or known.lease.epoch != record.worker.epoch:
            lease = Lease(record.worker.epoch, self._ground.clock.now())
            self._watched[record.key] = _Watched(lease, record.heartbeat)

    def forget(self, record: WorkerRecord) -> None:
        """Expect no heartbeats of a worker that is lost, until it is watched again."""
        self._watched.pop(record.key, None)

    def beat(self, record: WorkerRecord) -> None:
        """Count a heartbeat; one of a worker or an epoch that is not watched does nothing."""
        known = self._watched.get(record.key)
        if known is not None and known.lease.epoch == record.worker.epoch:
            known.lease = renew(known.lease, record.worker.epoch, self._ground.clock.now())
            known.stored = False

    async def run(self) -> None:
        """Store the heartbeats of each second, until cancelled."""
        clock = self._ground.clock
        while True:
            await clock.sleep_until(clock.now() + TICK)
            try:
                await self.store()
            except (StoreUnavailable, Conflict) as err:
                _log.warning("heartbeats_not_stored", reason=err.message)

    async def store(self) -> None:
        """Store what changed since the last call, in one transaction. Raises
        `StoreUnavailable`; then nothing is stored, and the next call stores it. Raises `Conflict`
        where another control plane leads by now, which knows newer ones."""
        now = self._ground.clock.now()
        due = {key: watch.lease for key, watch in self._watched.items() if watch.is_due(now)}
        if not due:
            return
        after: dict[WorkerKey, WorkerRecord | None] = {}
        async with self._ground.store.begin() as rows:
            await self._ground.leadership.check(rows)
            for key, lease in due.items():
                after[key] = await self._store_lease(rows, await rows.workers.get(key), lease)
        for key, record in after.items():
            self._update_watch(key, due[key], record)

    async def _store_lease(
        self, rows: Transaction, record: WorkerRecord | None, lease: Lease
    ) -> WorkerRecord | None:
        """Store the lease of a worker. Returns None when no more heartbeats are expected."""
        if record is None or not _is_expected(record, lease.epoch):
            return None
        now = self._ground.clock.now()
        state = heartbeat_state(record.worker.status, lease, now)
        after = replace(record, lease=lease, heartbeat=state)
        await rows.workers.put(after)
        if state is not record.heartbeat:
            draft = WorkerEventDraft(
                "worker.heartbeat",
                now,
                {"worker_id": record.created.worker_id, "heartbeat_state": state.value},
            )
            await rows.worker_events.append(record.key, (draft,))
        if state is HeartbeatState.MISSING:
            after, _ = await self._transitions.step(rows, after, Silent(SILENCE))
        return after

    def _update_watch(self, key: WorkerKey, lease: Lease, record: WorkerRecord | None) -> None:
        """Note that a lease was stored, and announce a change of the heartbeat state."""
        known = self._watched.get(key)
        if known is None or known.lease.epoch != lease.epoch:
            return
        if record is None or record.heartbeat is HeartbeatState.MISSING:
            del self._watched[key]
        else:
            known.stored = known.lease == lease
        if record is not None and record.heartbeat is not known.shown:
            known.shown = record.heartbeat
            self._ground.bus.announce((worker_stream(key),))


def _is_expected(record: WorkerRecord, epoch: int) -> bool:
    worker = record.worker
    served = worker.status is WorkerStatus.RUNNING and worker.contact is HostContact.PRESENT
    return served and worker.epoch == epoch
