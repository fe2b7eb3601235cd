"""Views of workers, receipts and events, as `proto/` has them: its classes parse them strictly."""

from datetime import timedelta
from typing import Any

from atoll.domain.duration import spell_duration
from atoll.domain.event import Json
from atoll.domain.worker.create import Permissions, TeardownPolicy
from atoll.domain.worker.heartbeat import HeartbeatState
from atoll.domain.worker.ledger import ErrorCode, Receipt, RequestRefusal, Response
from atoll.domain.worker.lifecycle import (
    DurabilityMarkers,
    Holder,
    WorkerStatus,
    WorkerTornDown,
)
from atoll.domain.worker.placement import spelled_route, spelled_sandbox
from atoll.domain.worker.record import WorkerEvent
from atoll.domain.worker.selection import backend_of, extension_of
from atoll.domain.worker.snapshot import Pending, WorkerSnapshot
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.body.fields import Partial, ResponseModel
from atoll.surfaces.http.body.pages import PageModel
from atoll.wire.words.routes import ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel


class WorkerTeardownView(ResponseModel):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy
    retain_for: str


class WorkerRepoView(ResponseModel):
    """A repository of a worker, as it was requested."""

    repo_url: str | None
    key: str | None
    branch: str | None
    from_branch: str | None
    path: str | None
    sparse: list[str]


class WorkerPlaceView(ResponseModel):
    """A place that a sandbox can be at. `backend` is a word for `extension`, and `extension` for
    one of somebody else's. `host` is empty on a vendor's machines."""

    backend: str
    extension: str
    host: str
    region: str


class WorkerCandidateView(ResponseModel):
    """A candidate of a decision, and why it could not take the worker."""

    placement: WorkerPlaceView
    execution_mode: ExecutionMode
    fit: bool
    reasons: list[str]


class WorkerAttemptView(ResponseModel):
    """A start at a place that failed."""

    placement: WorkerPlaceView
    at: str
    reason: str


class WorkerRouteView(ResponseModel):
    """The stored decision of a worker's route."""

    route_id: str
    at: str
    strategy: Strategy
    chosen: WorkerPlaceView | None
    candidates: list[WorkerCandidateView]
    attempts: list[WorkerAttemptView]


class IsolationView(ResponseModel):
    """The isolation that the wall truly gives."""

    level: IsolationLevel
    mechanism: str
    degraded: list[str]
    weak: bool
    host_uid: int | None
    init: str


class WorkerSandboxView(ResponseModel):
    """The sandbox of a worker. `isolation` is null before it was ready."""

    id: str
    isolation: IsolationView | None
    region: str | None
    host: str | None


class WorkerThreadView(ResponseModel):
    """A conversation of a worker. `turn_id` is the turn that runs, null while none does."""

    thread_id: str
    turn_id: str | None
    title: str | None


class ServerRequestView(ResponseModel):
    """A question of the agent that nobody has answered; `params` are its own JSON, as text."""

    server_request_id: str
    method: str
    params: str
    thread_id: str | None
    at: str


class WorkerPendingView(ResponseModel):
    """Requests without a receipt, and questions without an answer."""

    request_ids: list[str]
    server_requests: list[ServerRequestView]


class WorkerUsageView(ResponseModel):
    """The usage of a worker's sandbox, as its broker counts it: calls of models that passed, and
    their tokens. `cached_tokens` are among `input_tokens`."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class WorkerArtifactView(ResponseModel):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name: str
    type: str
    size: int
    sha256: str


class WorkerRemovalView(ResponseModel):
    """The teardown of a worker: what was removed, and what could not be, with why."""

    removed: list[str]
    leftovers: list[str]


class WorkerView(ResponseModel):
    """A snapshot of a worker. `remove_at` is when the sandbox of a stopped one is removed;
    `torn_down` is null until it was."""

    worker_id: str
    agent: str
    backend: str | None
    extension: str | None
    execution_mode: ExecutionMode | None
    profile: str | None
    repos: list[WorkerRepoView]
    workspace_ref: str | None
    codex_home_ref: str | None
    thread_id: str | None
    permissions: Permissions
    teardown: WorkerTeardownView
    metadata: dict[str, str]
    status: WorkerStatus
    reason: str | None
    latest_seq: int
    sandbox: WorkerSandboxView | None
    heartbeat_state: HeartbeatState
    heartbeat_age_ms: int
    heartbeat_stale_after_ms: int
    threads: list[WorkerThreadView]
    pending: WorkerPendingView
    usage: WorkerUsageView
    artifacts: list[WorkerArtifactView]
    route: WorkerRouteView | None
    held_by_person: bool
    created_at: str
    remove_at: str | None
    torn_down: WorkerRemovalView | None


class WorkerCreatedView(ResponseModel):
    """A worker that was created, or that was there. `events_kept_for` is how long what its agent
    says is kept, a duration; null is for good."""

    reattached: bool
    worker: WorkerView
    events_kept_for: str | None


class WorkerPage(PageModel):
    """A page of workers, newest first."""

    workers: list[WorkerView]


class WorkerMarkersView(ResponseModel):
    """The places and numbers that a stopped worker left."""

    last_seq: int
    workspace_ref: str | None
    codex_home_ref: str | None
    bundle_ref: str | None
    thread_ids: list[str]


class WorkerStopView(ResponseModel):
    """A worker that stops; `markers` is null until it has."""

    worker_id: str
    status: WorkerStatus
    markers: WorkerMarkersView | None


class WorkerTakenView(ResponseModel):
    """The terminal where a person has a worker's conversation; `desktop` is the machine that it is
    on, null where it is in a sandbox."""

    worker_id: str
    sandbox_id: str
    terminal_id: str
    thread_id: str
    desktop: str | None


class WorkerErasedView(ResponseModel):
    """A deletion of what an agent said: how many events were removed, and the number after which
    they begin now."""

    removed: int
    resume_after: int


class WorkerResultView(ResponseModel):
    """An answer of the agent: its own JSON, as text."""

    result: str


class WorkerErrorView(ResponseModel):
    """Why a request has no result. `data` is the agent's own error, as JSON text."""

    code: ErrorCode
    message: str
    retryable: bool
    data: str | None


class WorkerReceiptView(Partial):
    """The receipt of a request, with one of `response` and `error`; with neither it is pending."""

    worker_id: str
    request_id: str
    response: WorkerResultView | None = None
    error: WorkerErrorView | None = None


class IngestView(ResponseModel):
    """The number that a host's next item has, and how many items were new."""

    expected: int
    taken: int


def worker_view(shown: WorkerSnapshot) -> dict[str, Any]:
    """Return the members of `WorkerView`."""
    created, worker, observed = shown.created, shown.worker, shown.observed
    teardown = {
        "policy": created.teardown.policy,
        "retain_for": spell_duration(created.teardown.kept_seconds),
    }
    return WorkerView.of(
        created,
        **_backend(shown),
        execution_mode=shown.execution_mode,
        workspace_ref=shown.workspace_ref,
        codex_home_ref=shown.codex_home_ref,
        repos=[WorkerRepoView.of(one, sparse=[*one.sparse]) for one in created.repos],
        teardown=teardown,
        metadata=dict(created.metadata),
        status=worker.status,
        reason=worker.reason,
        latest_seq=observed.latest_seq,
        sandbox=None if observed.sandbox is None else spelled_sandbox(observed.sandbox),
        heartbeat_state=shown.heartbeat_state,
        heartbeat_age_ms=shown.heartbeat_age_ms,
        heartbeat_stale_after_ms=shown.heartbeat_stale_after_ms,
        threads=[WorkerThreadView.of(one) for one in observed.threads],
        pending=_pending(observed.pending),
        usage=WorkerUsageView.of(observed.usage),
        artifacts=[WorkerArtifactView.of(one) for one in observed.artifacts],
        route=None if observed.route is None else spelled_route(observed.route),
        held_by_person=worker.holder is Holder.PERSON,
        created_at=instant(shown.created_at),
        remove_at=None if worker.remove_at is None else instant(worker.remove_at),
        torn_down=None if worker.torn_down is None else _removal(worker.torn_down),
    )


def created_view(
    shown: WorkerSnapshot, *, reattached: bool, kept_for: timedelta | None
) -> dict[str, Any]:
    """Return the members of `WorkerCreatedView`."""
    kept = None if kept_for is None else spell_duration(int(kept_for.total_seconds()))
    return {"reattached": reattached, "worker": worker_view(shown), "events_kept_for": kept}


def stop_view(shown: WorkerSnapshot) -> dict[str, Any]:
    """Return the members of `WorkerStopView`."""
    markers = shown.worker.markers
    return {
        "worker_id": shown.created.worker_id,
        "status": shown.worker.status,
        "markers": None if markers is None else _markers(markers),
    }


def receipt_view(worker_id: str, request_id: str, receipt: Receipt | None) -> dict[str, Any]:
    """Return the members of `WorkerReceiptView`."""
    head = {"worker_id": worker_id, "request_id": request_id}
    match receipt:
        case None:
            return head
        case Response(result):
            return {**head, "response": {"result": result}}
        case RequestRefusal():
            return {**head, "error": WorkerErrorView.of(receipt)}


def event_view(worker_id: str, event: WorkerEvent) -> dict[str, Json]:
    """Return an event as a frame of the stream: its payload has one member, named as its type."""
    member = event.event_type.removeprefix("worker.").replace(".", "_")
    said = {name: value for name, value in event.payload.items() if name != "worker_id"}
    return {
        "worker_id": worker_id,
        "seq": event.seq,
        "event_type": event.event_type,
        "event_version": event.event_version,
        "at": instant(event.at),
        "payload": {member: said},
    }


def _backend(shown: WorkerSnapshot) -> dict[str, str | None]:
    """Return the backend that the worker is on, or that it was requested for."""
    sandbox, asked = shown.observed.sandbox, shown.created.backend
    if sandbox is not None:
        return {"backend": backend_of(sandbox.extension), "extension": sandbox.extension}
    if asked is None:
        return {"backend": None, "extension": None}
    return {"backend": backend_of(extension_of(asked)), "extension": extension_of(asked)}


def _pending(pending: Pending) -> dict[str, Any]:
    asked = [ServerRequestView.of(one, at=instant(one.at)) for one in pending.server_requests]
    return {"request_ids": [*pending.request_ids], "server_requests": asked}


def _removal(gone: WorkerTornDown) -> dict[str, Any]:
    return WorkerRemovalView.of(gone, removed=[*gone.removed], leftovers=[*gone.leftovers])


def _markers(markers: DurabilityMarkers) -> dict[str, Any]:
    return WorkerMarkersView.of(markers, thread_ids=[*markers.thread_ids])
