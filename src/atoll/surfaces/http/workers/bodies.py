"""Bodies of requests to workers (docs/program/workers.md)."""

from typing import Annotated, Any, cast

from pydantic import Field, StrictBool, StrictInt

from atoll.domain.errors import Invalid
from atoll.domain.host.reading import read_cost
from atoll.domain.route.policy import Constraints
from atoll.domain.sandbox.sandbox import RepoRequest
from atoll.domain.worker.create import (
    LONGEST_METADATA,
    MOST_METADATA,
    CreateWorker,
    Permissions,
    TeardownPolicy,
    WorkerId,
    WorkerTeardown,
)
from atoll.domain.worker.ledger import WorkerRequest
from atoll.domain.worker.selection import Selection
from atoll.services.workers.workers import MAX_WAIT_MS
from atoll.surfaces.http.body.fields import Address, Body, Seconds, Word
from atoll.wire.words.routes import MAX_NAMED, MAX_READY_MS, ExecutionMode, Strategy
from atoll.wire.words.sandboxes import MAX_SPARSE
from atoll.wire.words.walls import IsolationLevel

MAX_REPOS = 20
WorkerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", strict=True)]
RequestName = Annotated[str, Field(pattern=r"^[!-~]{1,128}$", strict=True)]
MethodName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_/]{0,127}$", strict=True)]
Value = Annotated[str, Field(max_length=LONGEST_METADATA, strict=True)]


class RepoBody(Body):
    """A repository.

    `repo_url`, or the `key` of one uploaded before; `sparse` are the directories of it to lay out,
    `path` is its place in the workspace.
    """

    repo_url: Address | None = None
    branch: Word | None = None
    from_branch: Word | None = None
    key: Word | None = None
    sparse: Annotated[tuple[Address, ...], Field(max_length=MAX_SPARSE)] = ()
    path: Address | None = None

    def to_domain(self) -> RepoRequest:
        """Return the domain's value. Raises `Invalid` when it names nothing."""
        if self.repo_url is None and self.key is None:
            raise Invalid("a repository needs `repo_url` or `key`", field="repos")
        return RepoRequest(
            self.repo_url or "", self.branch, self.from_branch, self.key, self.sparse, self.path
        )


class TeardownBody(Body):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy = TeardownPolicy.RETAIN
    retain_for: Seconds | None = None


class WorkerCostBody(Body):
    """A price of an hour: a decimal number as text, and its currency (ISO 4217)."""

    amount: Annotated[str, Field(pattern=r"^[0-9]{1,9}(\.[0-9]{1,6})?$", strict=True)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$", strict=True)]


class SelectionBody(Body):
    """Limits of the backend's choice, which narrow what the installation allows. `allow` are
    backends by word or id; none are all. `max_ready_ms` is the slowest median time until a sandbox
    is ready, `min_success` the least share of starts that succeed, from 0 to 1.
    `accept_open_network` agrees to a backend that cannot close its network."""

    allow: Annotated[tuple[Word, ...], Field(max_length=MAX_NAMED)] = ()
    region: Word | None = None
    max_ready_ms: Annotated[StrictInt, Field(ge=1, le=MAX_READY_MS)] | None = None
    max_cost_per_hour: WorkerCostBody | None = None
    min_success: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)] | None = None
    require_isolation: IsolationLevel | None = None
    strategy: Strategy | None = None
    accept_open_network: StrictBool = False

    def to_domain(self) -> Selection:
        """Return the domain's value. Raises `Invalid`."""
        cost = self.max_cost_per_hour
        return Selection(
            self.allow,
            self.strategy,
            Constraints(
                None if cost is None else read_cost(f"{cost.amount} {cost.currency}"),
                self.require_isolation,
                self.region,
                max_ready_ms=self.max_ready_ms,
                min_success=self.min_success,
            ),
            self.accept_open_network,
        )


class WorkerBody(Body):
    """A worker to create, or to reattach by its `worker_id`. Without `backend` the policy chooses
    one, within `selection`. References are names such as `sandbox:<id>/workspace`."""

    worker_id: WorkerName
    agent: Word = "codex"
    backend: Word | None = None
    execution_mode: ExecutionMode | None = None
    profile: Word | None = None
    repos: Annotated[tuple[RepoBody, ...], Field(max_length=MAX_REPOS)] = ()
    workspace_ref: Word | None = None
    codex_home_ref: Word | None = None
    thread_id: Word | None = None
    permissions: Permissions = Permissions.ALLOW
    teardown: TeardownBody = TeardownBody()
    metadata: Annotated[dict[Word, Value], Field(max_length=MOST_METADATA, default_factory=dict)]
    selection: SelectionBody = SelectionBody()

    def to_domain(self) -> CreateWorker:
        """Return the domain's value. Raises `Invalid`."""
        return CreateWorker(
            WorkerId(self.worker_id),
            self.agent,
            self.backend,
            self.execution_mode,
            self.profile,
            tuple(one.to_domain() for one in self.repos),
            self.workspace_ref,
            self.codex_home_ref,
            self.thread_id,
            self.permissions,
            WorkerTeardown(self.teardown.policy, cast(int | None, self.teardown.retain_for)),
            dict(self.metadata),
            self.selection.to_domain(),
        )


class WorkerRequestFields(Body):
    """A request in the agent's own protocol."""

    request_id: RequestName
    method: MethodName
    params: Annotated[dict[str, Any], Field(default_factory=dict)]


class WorkerRequestBody(Body):
    """A request, and how long to wait for its receipt."""

    request: WorkerRequestFields
    wait_ms: Annotated[StrictInt, Field(ge=0, le=MAX_WAIT_MS)] = 0

    def to_domain(self) -> WorkerRequest:
        """Return the domain's value."""
        one = self.request
        return WorkerRequest(one.request_id, one.method, one.params)


class TakeWorkerBody(Body):
    """The thread that a person takes; without one it is the newest. `desktop` is the linked machine
    that they sit at, which alone reaches the terminal of a worker there."""

    thread_id: Word | None = None
    desktop: Word | None = None


class StopWorkerBody(Body):
    """Why a worker is stopped, where somebody says."""

    reason: Word | None = None
