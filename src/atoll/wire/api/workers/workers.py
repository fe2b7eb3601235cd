"""Workers: agents that a program drives, each with a durable stream.

`proto/` has the same messages: its classes parse the answers strictly.
"""

from typing import Annotated, Any

from msgspec import Meta, field

from atoll.wire.api.annotations import Header, Unshown
from atoll.wire.api.events import EventId
from atoll.wire.api.fields import FIRST_PAGE, Paging, Position, Seconds, Word
from atoll.wire.api.operation import Answer, Area, PartialAnswer, Request, Stream, operation
from atoll.wire.api.sandboxes.requests import RepoBody
from atoll.wire.api.sandboxes.views import IsolationView
from atoll.wire.api.workers.deliveries import HostBatchBody, IngestView
from atoll.wire.http.media_types import SSE
from atoll.wire.words.routes import MAX_NAMED, MAX_READY_MS, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel
from atoll.wire.words.workers import (
    LONGEST_METADATA,
    MAX_BATCH_BYTES,
    MAX_BATCH_VALUES,
    MAX_TAIL_MS,
    MAX_WAIT_MS,
    MAX_WORKER_REPOS,
    MOST_METADATA,
    ErrorCode,
    HeartbeatState,
    Permissions,
    TeardownPolicy,
    WorkerStatus,
)

WorkerName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")]
RequestName = Annotated[str, Meta(pattern=r"^[!-~]{1,128}\Z")]
MethodName = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_/]{0,127}\Z")]
Value = Annotated[str, Meta(max_length=LONGEST_METADATA)]
WorkerRef = Annotated[str, Meta(min_length=1, max_length=64, description="The `worker_id`.")]
TraceParent = Annotated[Annotated[str, Meta(max_length=200)], Header("traceparent")]
TailMs = Annotated[int, Meta(ge=0, le=MAX_TAIL_MS)]


class TeardownBody(Request):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy = TeardownPolicy.RETAIN
    retain_for: Seconds | None = None


class WorkerCostBody(Request):
    """A price of an hour: a decimal number as text, and its currency (ISO 4217)."""

    amount: Annotated[str, Meta(pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?\Z")]
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")]


class SelectionBody(Request):
    """Limits of the backend's choice, which narrow what the installation allows. `allow` are
    backends by word or id; none are all. `max_ready_ms` is the slowest median time until a sandbox
    is ready, `min_success` the least share of starts that succeed, from 0 to 1.
    `accept_open_network` agrees to a backend that cannot close its network."""

    allow: Annotated[tuple[Word, ...], Meta(max_length=MAX_NAMED)] = ()
    region: Word | None = None
    max_ready_ms: Annotated[int, Meta(ge=1, le=MAX_READY_MS)] | None = None
    max_cost_per_hour: WorkerCostBody | None = None
    min_success: Annotated[float, Meta(ge=0, le=1)] | None = None
    require_isolation: IsolationLevel | None = None
    strategy: Strategy | None = None
    accept_open_network: bool = False


class WorkerBody(Request):
    """A worker to create, or to reattach by its `worker_id`. Without `backend` the policy chooses
    one, within `selection`. References are names such as `sandbox:<id>/workspace`."""

    worker_id: WorkerName
    agent: Word = "codex"
    backend: Word | None = None
    execution_mode: ExecutionMode | None = None
    profile: Word | None = None
    repos: Annotated[tuple[RepoBody, ...], Meta(max_length=MAX_WORKER_REPOS)] = ()
    workspace_ref: Word | None = None
    codex_home_ref: Word | None = None
    thread_id: Word | None = None
    permissions: Permissions = Permissions.ALLOW
    teardown: TeardownBody = field(default_factory=TeardownBody)
    metadata: Annotated[dict[Word, Value], Meta(max_length=MOST_METADATA), Unshown()] = {}
    selection: SelectionBody = field(default_factory=SelectionBody)


class WorkerRequestFields(Request):
    """A request in the agent's own protocol."""

    request_id: RequestName
    method: MethodName
    params: Annotated[dict[str, Any], Unshown()] = {}


class WorkerRequestBody(Request):
    """A request, and how long to wait for its receipt."""

    request: WorkerRequestFields
    wait_ms: Annotated[int, Meta(ge=0, le=MAX_WAIT_MS)] = 0


class TakeWorkerBody(Request):
    """The thread that a person takes; without one it is the newest. `desktop` is the linked machine
    that they sit at, which alone reaches the terminal of a worker there."""

    thread_id: Word | None = None
    desktop: Word | None = None


class StopWorkerBody(Request):
    """Why a worker is stopped, where somebody says."""

    reason: Word | None = None


class WorkerTeardownView(Answer):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy
    retain_for: str


class WorkerRepoView(Answer):
    """A repository of a worker, as it was requested."""

    repo_url: str | None
    key: str | None
    branch: str | None
    from_branch: str | None
    path: str | None
    sparse: list[str]


class WorkerPlaceView(Answer):
    """A place that a sandbox can be at. `backend` is a word for `extension`, and `extension` for
    one of somebody else's. `host` is empty on a vendor's machines."""

    backend: str
    extension: str
    host: str
    region: str


class WorkerCandidateView(Answer):
    """A candidate of a decision, and why it could not take the worker."""

    placement: WorkerPlaceView
    execution_mode: ExecutionMode
    fit: bool
    reasons: list[str]


class WorkerAttemptView(Answer):
    """A start at a place that failed."""

    placement: WorkerPlaceView
    at: str
    reason: str


class WorkerRouteView(Answer):
    """The stored decision of a worker's route."""

    route_id: str
    at: str
    strategy: Strategy
    chosen: WorkerPlaceView | None
    candidates: list[WorkerCandidateView]
    attempts: list[WorkerAttemptView]


class WorkerSandboxView(Answer):
    """The sandbox of a worker. `isolation` is null before it was ready."""

    id: str
    isolation: IsolationView | None
    region: str | None
    host: str | None


class WorkerThreadView(Answer):
    """A conversation of a worker. `turn_id` is the turn that runs, null while none does."""

    thread_id: str
    turn_id: str | None
    title: str | None


class ServerRequestView(Answer):
    """A question of the agent that nobody has answered; `params` are its own JSON, as text."""

    server_request_id: str
    method: str
    params: str
    thread_id: str | None
    at: str


class WorkerPendingView(Answer):
    """Requests without a receipt, and questions without an answer."""

    request_ids: list[str]
    server_requests: list[ServerRequestView]


class WorkerUsageView(Answer):
    """The usage of a worker's sandbox, as its broker counts it: calls of models that passed, and
    their tokens. `cached_tokens` are among `input_tokens`."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class WorkerArtifactView(Answer):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name: str
    type: str
    size: int
    sha256: str


class WorkerRemovalView(Answer):
    """The teardown of a worker: what was removed, and what could not be, with why."""

    removed: list[str]
    leftovers: list[str]


class WorkerView(Answer):
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


class WorkerCreatedView(Answer):
    """A worker that was created, or that was there. `events_kept_for` is how long what its agent
    says is kept, a duration; null is for good."""

    reattached: bool
    worker: WorkerView
    events_kept_for: str | None


class WorkerPage(Answer):
    """A page of workers, newest first."""

    workers: list[WorkerView]
    next: str | None


class WorkerMarkersView(Answer):
    """The places and numbers that a stopped worker left."""

    last_seq: int
    workspace_ref: str | None
    codex_home_ref: str | None
    bundle_ref: str | None
    thread_ids: list[str]


class WorkerStopView(Answer):
    """A worker that stops; `markers` is null until it has."""

    worker_id: str
    status: WorkerStatus
    markers: WorkerMarkersView | None


class WorkerTakenView(Answer):
    """The terminal where a person has a worker's conversation; `desktop` is the machine that it is
    on, null where it is in a sandbox."""

    worker_id: str
    sandbox_id: str
    terminal_id: str
    thread_id: str
    desktop: str | None


class WorkerErasedView(Answer):
    """A deletion of what an agent said: how many events were removed, and the number after which
    they begin now."""

    removed: int
    resume_after: int


class WorkerResultView(Answer):
    """An answer of the agent: its own JSON, as text."""

    result: str


class WorkerErrorView(Answer):
    """Why a request has no result. `data` is the agent's own error, as JSON text."""

    code: ErrorCode
    message: str
    retryable: bool
    data: str | None


class WorkerReceiptView(PartialAnswer):
    """The receipt of a request, with one of `response` and `error`; with neither it is pending."""

    worker_id: str
    request_id: str
    response: WorkerResultView | None = None
    error: WorkerErrorView | None = None


_FAILURES = (404, 409)


class Workers(Area):
    """Agents that a program drives."""

    tag = "workers"
    needs = "agent.use"

    @operation(
        "POST /v1/workers",
        name="create_worker",
        status=201,
        problems=_FAILURES,
        also={200: "Reattached."},
    )
    def create(self, body: WorkerBody) -> WorkerCreatedView:
        """Create a worker, or reattach the one of this `worker_id`; it starts meanwhile."""

    @operation("GET /v1/workers", name="list_workers", needs="agent.read")
    def list(self, *, page: Paging = FIRST_PAGE) -> WorkerPage:
        """List workers, newest first."""

    @operation(
        "GET /v1/workers/{worker_id}/snapshot",
        name="get_worker",
        needs="agent.read",
        problems=_FAILURES,
    )
    def get(self, worker_id: WorkerRef) -> WorkerView:
        """Return the snapshot of a worker."""

    @operation(
        "POST /v1/workers/{worker_id}/requests",
        name="request_worker",
        needs="agent.read",
        problems=(404, 409, 429),
        also={202: "It is pending."},
    )
    def request(
        self, worker_id: WorkerRef, body: WorkerRequestBody, *, traceparent: TraceParent = ""
    ) -> WorkerReceiptView:
        """Send a request to the agent, once, whatever is repeated. `traceparent` goes with it."""

    @operation(
        "POST /v1/workers/{worker_id}/stop", name="stop_worker", status=202, problems=_FAILURES
    )
    def stop(self, worker_id: WorkerRef, body: StopWorkerBody | None = None) -> WorkerStopView:
        """Stop a worker: its work is kept, and its sandbox as its policy says."""

    @operation("POST /v1/workers/{worker_id}/take", name="take_worker", problems=_FAILURES)
    def take(self, worker_id: WorkerRef, body: TakeWorkerBody | None = None) -> WorkerTakenView:
        """Take the conversation to a terminal. Until it is given back, requests are refused."""

    @operation(
        "POST /v1/workers/{worker_id}/give-back", name="give_worker_back", problems=_FAILURES
    )
    def give_back(self, worker_id: WorkerRef) -> WorkerView:
        """End what is at the terminal, and have the machine go on with the conversation."""

    @operation(
        "GET /v1/workers/{worker_id}/stream",
        name="follow_worker",
        needs="agent.read",
        stream=SSE,
        about="One server-sent event for each event.",
        problems=(404, 409, 410),
    )
    def follow(
        self,
        worker_id: WorkerRef,
        *,
        cursor: Position | None = None,
        tail_ms: TailMs | None = None,
        last_event_id: Annotated[EventId | None, Header("last-event-id")] = None,
    ) -> Stream:
        """Follow every event after `cursor` or `Last-Event-ID`, then each as it comes; with
        `tail_ms` only for that long. Deltas come between them, without an id."""

    @operation("DELETE /v1/workers/{worker_id}/stream", name="erase_worker", problems=(404,))
    def erase(self, worker_id: WorkerRef) -> WorkerErasedView:
        """Delete what the agent said: every event but the newest, the answers to its requests, and
        its artifacts."""

    @operation(
        "POST /v1/workers/{worker_id}/events",
        name="deliver_events",
        problems=_FAILURES,
        max_bytes=MAX_BATCH_BYTES,
        max_values=MAX_BATCH_VALUES,
    )
    def deliver(self, worker_id: WorkerRef, body: HostBatchBody) -> IngestView:
        """Take what the host of a worker delivers, each item once. Only the token of its lease
        may."""
