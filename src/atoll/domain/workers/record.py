"""A worker as it is stored, with its requests and its events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, WorkerKey
from atoll.domain.routes.health import Attempt
from atoll.domain.workers.create import CreateWorker
from atoll.domain.workers.heartbeat import Lease
from atoll.domain.workers.ledger import LedgerEntry
from atoll.domain.workers.lifecycle import HostContact, Worker
from atoll.domain.workers.talk import NO_TALK, WorkerTalk
from atoll.wire.words.workers import HeartbeatState, WorkerStatus

WORKER_STREAMS = "worker:"
"""The prefix of the name of a worker's stream."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A stored worker. `sandbox_id` and `agent_id` are of its present epoch, and empty before that
    has them. `collected` is the number of the last entry of the runtime's spool that is stored, and
    `heartbeat` the last state of the heartbeat that is in its stream.

    `made_in` is the epoch that made the sandbox. `failed` are the starts of the wall or the agent
    that failed in the present epoch; `leaves`: the sandbox of the last one is torn down, and the
    next candidate tries."""

    key: WorkerKey
    org_id: OrgId
    owner: PrincipalId
    created: CreateWorker
    worker: Worker
    lease: Lease
    created_at: datetime
    sandbox_id: SandboxId | None = None
    agent_id: str = ""
    collected: int = 0
    heartbeat: HeartbeatState = HeartbeatState.FRESH
    made_in: int = 0
    failed: tuple[Attempt, ...] = ()
    leaves: bool = False
    talk: WorkerTalk = NO_TALK


def advance(record: WorkerRecord, worker: Worker, now: datetime) -> WorkerRecord:
    """Return the record of a worker after a transition. A lease is granted when an epoch begins,
    when its agent is up, and when a lost host is back."""
    before = record.worker
    if worker.epoch != before.epoch:
        return replace(
            record,
            worker=worker,
            lease=Lease(worker.epoch, now),
            heartbeat=HeartbeatState.FRESH,
            failed=(),
            leaves=False,
        )
    up = _is_served(worker) and not _is_served(before)
    lease = Lease(worker.epoch, now) if up else record.lease
    return replace(record, worker=worker, lease=lease)


def mark_leaving(record: WorkerRecord, attempts: Iterable[Attempt]) -> WorkerRecord:
    """Return the record of a worker that leaves a place, as its agent did not start there, after
    these attempts."""
    failed = tuple(one for one in attempts if one.reason is not None)
    return replace(record, failed=failed, leaves=True)


def clear_place(record: WorkerRecord) -> WorkerRecord:
    """Return the record of a worker once nothing of it stands at the place it leaves."""
    return replace(record, sandbox_id=None, agent_id="", collected=0, made_in=0, leaves=False)


@dataclass(frozen=True, slots=True)
class RequestRecord:
    """A request of a worker in the ledger."""

    key: WorkerKey
    request_id: str
    entry: LedgerEntry


@dataclass(frozen=True, slots=True)
class WorkerEventDraft:
    """An event before its stream has numbered it."""

    event_type: str
    at: datetime
    payload: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class WorkerEvent:
    """An event of a worker. `seq` counts from 1 within its stream."""

    seq: int
    event_type: str
    event_version: int
    at: datetime
    payload: Mapping[str, Json]


def worker_stream(key: WorkerKey) -> str:
    """Return the name of one worker's stream."""
    return f"{WORKER_STREAMS}{key}"


def _is_served(worker: Worker) -> bool:
    return worker.status is WorkerStatus.RUNNING and worker.contact is HostContact.PRESENT
