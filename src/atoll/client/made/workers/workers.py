"""Workers: agents that a program drives, each with a durable stream.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.sandboxes.requests import RepoBody
from atoll.client.made.sandboxes.views import Isolation
from atoll.client.parts import NamedBackend
from atoll.client.transport import Call, Pairs, Transport, api_path, get, omit_absent, post

TeardownPolicy = Literal["immediate", "retain"]

ExecutionMode = Literal["desktop", "sandbox"]

Strategy = Literal[
    "desktop_preferred", "prefer-self-hosted", "lowest-cost", "lowest-latency", "explicit"
]

Permissions = Literal["allow", "ask"]

WorkerStatus = Literal["starting", "running", "stopping", "stopped", "failed"]

HeartbeatState = Literal["fresh", "stale", "missing", "stopped", "failed"]

ErrorCode = Literal[
    "forbidden",
    "invalid_request",
    "unsupported_method",
    "conflict",
    "worker_unavailable",
    "timeout",
    "internal_error",
    "outcome_unknown",
]

IsolationLevel = Literal["none", "policy", "container", "microvm"]


class WorkerTeardown(Shape):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: Field[TeardownPolicy] = fields.word()
    retain_for = fields.text()


class WorkerRepo(Shape):
    """A repository of a worker, as it was requested."""

    repo_url = fields.text()
    key = fields.text()
    branch = fields.text()
    from_branch = fields.text()
    path = fields.text()
    sparse = fields.texts()


class WorkerPlace(Shape):
    """A place that a sandbox can be at. `backend` is a word for `extension`, and `extension` for
    one of somebody else's. `host` is empty on a vendor's machines."""

    backend = fields.text()
    extension = fields.text()
    host = fields.text()
    region = fields.text()


class WorkerCandidate(Shape):
    """A candidate of a decision, and why it could not take the worker."""

    placement = fields.one(WorkerPlace)
    execution_mode: Field[ExecutionMode] = fields.word()
    fit = fields.flag()
    reasons = fields.texts()


class WorkerAttempt(Shape):
    """A start at a place that failed."""

    placement = fields.one(WorkerPlace)
    at = fields.text()
    reason = fields.text()


class WorkerRoute(Shape):
    """The stored decision of a worker's route."""

    route_id = fields.text()
    at = fields.text()
    strategy: Field[Strategy] = fields.word()
    chosen = fields.one(WorkerPlace)
    candidates = fields.many(WorkerCandidate)
    attempts = fields.many(WorkerAttempt)


class WorkerSandbox(Shape):
    """The sandbox of a worker. `isolation` is null before it was ready."""

    id = fields.text()
    isolation = fields.one(Isolation)
    region = fields.text()
    host = fields.text()


class WorkerThread(Shape):
    """A conversation of a worker. `turn_id` is the turn that runs, null while none does."""

    thread_id = fields.text()
    turn_id = fields.text()
    title = fields.text()


class ServerRequest(Shape):
    """A question of the agent that nobody has answered; `params` are its own JSON, as text."""

    server_request_id = fields.text()
    method = fields.text()
    params = fields.text()
    thread_id = fields.text()
    at = fields.text()


class WorkerPending(Shape):
    """Requests without a receipt, and questions without an answer."""

    request_ids = fields.texts()
    server_requests = fields.many(ServerRequest)


class WorkerUsage(Shape):
    """The usage of a worker's sandbox, as its broker counts it: calls of models that passed, and
    their tokens. `cached_tokens` are among `input_tokens`."""

    requests = fields.number()
    input_tokens = fields.number()
    output_tokens = fields.number()
    cached_tokens = fields.number()


class WorkerArtifact(Shape):
    """A file that an execution made: its media type, its bytes, and its SHA-256 in hexadecimal."""

    name = fields.text()
    type = fields.text()
    size = fields.number()
    sha256 = fields.text()


class WorkerRemoval(Shape):
    """The teardown of a worker: what was removed, and what could not be, with why."""

    removed = fields.texts()
    leftovers = fields.texts()


class Worker(NamedBackend):
    """A snapshot of a worker. `remove_at` is when the sandbox of a stopped one is removed;
    `torn_down` is null until it was."""

    worker_id = fields.text()
    agent = fields.text()
    backend = fields.text()
    extension = fields.text()
    execution_mode: Field[ExecutionMode] = fields.word()
    profile = fields.text()
    repos = fields.many(WorkerRepo)
    workspace_ref = fields.text()
    codex_home_ref = fields.text()
    thread_id = fields.text()
    permissions: Field[Permissions] = fields.word()
    teardown = fields.one(WorkerTeardown)
    metadata = fields.named_texts()
    status: Field[WorkerStatus] = fields.word()
    reason = fields.text()
    latest_seq = fields.number()
    sandbox = fields.one(WorkerSandbox)
    heartbeat_state: Field[HeartbeatState] = fields.word()
    heartbeat_age_ms = fields.number()
    heartbeat_stale_after_ms = fields.number()
    threads = fields.many(WorkerThread)
    pending = fields.one(WorkerPending)
    usage = fields.one(WorkerUsage)
    artifacts = fields.many(WorkerArtifact)
    route = fields.one(WorkerRoute)
    held_by_person = fields.flag()
    created_at = fields.text()
    remove_at = fields.text()
    torn_down = fields.one(WorkerRemoval)


class WorkerCreated(Shape):
    """A worker that was created, or that was there. `events_kept_for` is how long what its agent
    says is kept, a duration; null is for good."""

    reattached = fields.flag()
    worker = fields.one(Worker)
    events_kept_for = fields.text()


class WorkerPage(Shape):
    """A page of workers, newest first."""

    workers = fields.many(Worker)
    next = fields.text()


class WorkerMarkers(Shape):
    """The places and numbers that a stopped worker left."""

    last_seq = fields.number()
    workspace_ref = fields.text()
    codex_home_ref = fields.text()
    bundle_ref = fields.text()
    thread_ids = fields.texts()


class WorkerStop(Shape):
    """A worker that stops; `markers` is null until it has."""

    worker_id = fields.text()
    status: Field[WorkerStatus] = fields.word()
    markers = fields.one(WorkerMarkers)


class WorkerTaken(Shape):
    """The terminal where a person has a worker's conversation; `desktop` is the machine that it
    is on, null where it is in a sandbox."""

    worker_id = fields.text()
    sandbox_id = fields.text()
    terminal_id = fields.text()
    thread_id = fields.text()
    desktop = fields.text()


class WorkerErased(Shape):
    """A deletion of what an agent said: how many events were removed, and the number after which
    they begin now."""

    removed = fields.number()
    resume_after = fields.number()


class WorkerResult(Shape):
    """An answer of the agent: its own JSON, as text."""

    result = fields.text()


class WorkerError(Shape):
    """Why a request has no result. `data` is the agent's own error, as JSON text."""

    code: Field[ErrorCode] = fields.word()
    message = fields.text()
    retryable = fields.flag()
    data = fields.text()


class WorkerReceipt(Shape):
    """The receipt of a request, with one of `response` and `error`; with neither it is pending."""

    worker_id = fields.text()
    request_id = fields.text()
    response = fields.optional(WorkerResult)
    error = fields.optional(WorkerError)


class TeardownBody(TypedDict, total=False):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy
    retain_for: int | str | None


class WorkerCostBody(TypedDict, total=False):
    """A price of an hour: a decimal number as text, and its currency (ISO 4217)."""

    amount: Required[str]
    currency: Required[str]


class SelectionBody(TypedDict, total=False):
    """Limits of the backend's choice, which narrow what the installation allows. `allow` are
    backends by word or id; none are all. `max_ready_ms` is the slowest median time until a
    sandbox is ready, `min_success` the least share of starts that succeed, from 0 to 1.
    `accept_open_network` agrees to a backend that cannot close its network."""

    allow: list[str]
    region: str | None
    max_ready_ms: int | None
    max_cost_per_hour: WorkerCostBody | None
    min_success: float | None
    require_isolation: IsolationLevel | None
    strategy: Strategy | None
    accept_open_network: bool


class WorkerBody(TypedDict, total=False):
    """A worker to create, or to reattach by its `worker_id`. Without `backend` the policy
    chooses one, within `selection`. References are names such as `sandbox:<id>/workspace`."""

    worker_id: Required[str]
    agent: str
    backend: str | None
    execution_mode: ExecutionMode | None
    profile: str | None
    repos: list[RepoBody]
    workspace_ref: str | None
    codex_home_ref: str | None
    thread_id: str | None
    permissions: Permissions
    teardown: TeardownBody
    metadata: dict[str, str]
    selection: SelectionBody


class WorkerRequestFields(TypedDict, total=False):
    """A request in the agent's own protocol."""

    request_id: Required[str]
    method: Required[str]
    params: dict[str, object]


class WorkerRequestBody(TypedDict, total=False):
    """A request, and how long to wait for its receipt."""

    request: Required[WorkerRequestFields]
    wait_ms: int


class TakeWorkerBody(TypedDict, total=False):
    """The thread that a person takes; without one it is the newest. `desktop` is the linked
    machine that they sit at, which alone reaches the terminal of a worker there."""

    thread_id: str | None
    desktop: str | None


class PlainWorkers:
    """Agents that a program drives. Every method raises the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, body: WorkerBody) -> WorkerCreated:
        """Create a worker, or reattach the one of this `worker_id`; it starts meanwhile."""
        return self._transport.read(WorkerCreated, post("workers", value=body))

    def page(self, query: Pairs = ()) -> WorkerPage:
        """List workers, newest first."""
        return self._transport.read(WorkerPage, get("workers", query=query))

    def get(self, worker_id: str) -> Worker:
        """Return the snapshot of a worker."""
        return self._transport.read(Worker, get("workers", worker_id, "snapshot"))

    def stop(self, worker_id: str, reason: str | None = None) -> WorkerStop:
        """Stop a worker: its work is kept, and its sandbox as its policy says."""
        return self._transport.read(
            WorkerStop, post("workers", worker_id, "stop", value=omit_absent(reason=reason))
        )

    def give_back(self, worker_id: str) -> Worker:
        """End what is at the terminal, and have the machine go on with the conversation."""
        return self._transport.read(Worker, post("workers", worker_id, "give-back"))

    def erase(self, worker_id: str) -> WorkerErased:
        """Delete what the agent said: every event but the newest, the answers to its requests,
        and its artifacts."""
        return self._transport.read(
            WorkerErased, Call("DELETE", api_path("workers", worker_id, "stream"))
        )
