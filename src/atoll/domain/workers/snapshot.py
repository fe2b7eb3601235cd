"""The snapshot of a worker: what its surfaces show."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from atoll.domain.overview.usage import DoorCounts
from atoll.domain.routes.policy import DESKTOP
from atoll.domain.routes.record import RouteRecord
from atoll.domain.wall.isolation import Isolation
from atoll.domain.workers.artifact import WorkerArtifact
from atoll.domain.workers.create import AGENT_HOME, WORKSPACE, CreateWorker
from atoll.domain.workers.heartbeat import STALE_AFTER, heartbeat_state
from atoll.domain.workers.lifecycle import Worker
from atoll.domain.workers.record import WorkerRecord
from atoll.domain.workers.talk import WorkerThread
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.workers import HeartbeatState

_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class WorkerSandbox:
    """The sandbox of a worker, on the backend of an extension's id. `isolation` is not known before
    it was ready. `ref` is the name of the place of its files, None once they are gone."""

    id: str
    extension: str
    isolation: Isolation | None = None
    region: str | None = None
    host: str | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True)
class ServerRequest:
    """A question of the agent, under an id of ours."""

    server_request_id: str
    method: str
    params: str
    thread_id: str | None
    at: datetime


@dataclass(frozen=True, slots=True)
class OpenItems:
    """Requests without a receipt, and questions of the agent without an answer."""

    request_ids: tuple[str, ...] = ()
    server_requests: tuple[ServerRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerUsage:
    """The usage of a worker's sandbox, as its broker counts it."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


def usage_of(counts: DoorCounts) -> WorkerUsage:
    """Return the usage that the counts of a sandbox stand for."""
    return WorkerUsage(
        counts.calls,
        counts.tokens_in,
        counts.tokens_out,
        min(counts.tokens_cached, counts.tokens_in),
    )


@dataclass(frozen=True, slots=True)
class WorkerObservation:
    """A worker as others know it: its stream, sandbox, ledger, broker and route."""

    latest_seq: int = 0
    threads: tuple[WorkerThread, ...] = ()
    sandbox: WorkerSandbox | None = None
    pending: OpenItems = OpenItems()
    usage: WorkerUsage = WorkerUsage()
    route: RouteRecord | None = None
    artifacts: tuple[WorkerArtifact, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkerSnapshot:
    """A worker at one moment: what was requested, its state, its heartbeat, and what is observed.
    Times are whole milliseconds."""

    created: CreateWorker
    created_at: datetime
    worker: Worker
    heartbeat_state: HeartbeatState
    heartbeat_age_ms: int
    heartbeat_stale_after_ms: int
    observed: WorkerObservation

    @property
    def execution_mode(self) -> ExecutionMode | None:
        """The kind of machine that it is on; before it has a place, the only kind that may be."""
        sandbox = self.observed.sandbox
        if sandbox is None:
            return self.created.only_mode
        return ExecutionMode.DESKTOP if sandbox.extension == DESKTOP else ExecutionMode.SANDBOX

    @property
    def workspace_ref(self) -> str | None:
        """The name of its workspace, None while it has none."""
        return self._reference(WORKSPACE, self.created.workspace_ref)

    @property
    def codex_home_ref(self) -> str | None:
        """The name of its agent's home, None while it has none."""
        return self._reference(AGENT_HOME, self.created.codex_home_ref)

    def _reference(self, part: str, requested: str | None) -> str | None:
        sandbox = self.observed.sandbox
        if sandbox is None:
            return requested if self.worker.torn_down is None else None
        return None if sandbox.ref is None else f"{sandbox.ref}/{part}"


def snapshot(record: WorkerRecord, observed: WorkerObservation, *, now: datetime) -> WorkerSnapshot:
    """Return the snapshot of a worker at `now`."""
    worker, lease = record.worker, record.lease
    return WorkerSnapshot(
        created=record.created,
        created_at=record.created_at,
        worker=worker,
        heartbeat_state=heartbeat_state(worker.status, lease, now),
        heartbeat_age_ms=lease.age(now) // _MILLISECOND,
        heartbeat_stale_after_ms=STALE_AFTER // _MILLISECOND,
        observed=observed,
    )
