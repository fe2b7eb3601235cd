"""A worker as it is stored, with its requests and its events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.event import Json
from atoll.domain.ids import OrgId, PrincipalId, SandboxId, WorkerKey
from atoll.domain.worker.create import CreateWorker
from atoll.domain.worker.heartbeat import Lease
from atoll.domain.worker.ledger import LedgerEntry
from atoll.domain.worker.lifecycle import Worker

WORKER_STREAMS = "worker:"
"""The prefix of the name of a worker's stream."""


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A stored worker. `sandbox_id` and `agent_id` are of its present epoch, and empty before that
    has them. `collected` is the number of the last entry of the runtime's spool that is stored."""

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
