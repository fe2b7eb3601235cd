"""The heartbeat of a worker's host, judged from `now`; nothing here reads a clock.

A host renews its lease every ten seconds. The lease ends with the third heartbeat in a row that
did not come. A host whose worker may be reattached elsewhere has paused its agent one heartbeat
earlier, by its own clock, so two hosts never work on one workspace.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.workers.lifecycle import check_epoch
from atoll.wire.words.workers import HeartbeatState, WorkerStatus

LEASE: Final = timedelta(seconds=30)
INTERVAL: Final = LEASE / 3
STALE_AFTER: Final = 2 * INTERVAL


@dataclass(frozen=True, slots=True)
class Lease:
    """A host's lease on one worker. Its grant counts as a heartbeat."""

    epoch: int
    renewed_at: datetime

    def age(self, now: datetime) -> timedelta:
        """Return the time since the last heartbeat; zero where the clock went back."""
        return max(timedelta(), now - self.renewed_at)


def renew(lease: Lease, epoch: int, now: datetime) -> Lease:
    """Return the lease after a heartbeat. Raises `Conflict` for another epoch."""
    check_epoch(lease.epoch, epoch)
    return replace(lease, renewed_at=max(lease.renewed_at, now))


def heartbeat_state(status: WorkerStatus, lease: Lease, now: datetime) -> HeartbeatState:
    """Return the state of a worker's heartbeat. One that starts or has ended owes none."""
    if status is WorkerStatus.STARTING:
        return HeartbeatState.FRESH
    if status is WorkerStatus.STOPPED:
        return HeartbeatState.STOPPED
    if status is WorkerStatus.FAILED:
        return HeartbeatState.FAILED
    age = lease.age(now)
    if age >= LEASE:
        return HeartbeatState.MISSING
    return HeartbeatState.STALE if age >= STALE_AFTER else HeartbeatState.FRESH


def must_pause(since_accepted: timedelta, *, reattachable: bool) -> bool:
    """Report whether a host pauses its agent. `since_accepted` is the time since it sent the last
    heartbeat that was accepted. A desktop that keeps its worker goes on."""
    return reattachable and since_accepted >= STALE_AFTER
