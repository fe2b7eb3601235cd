"""Bodies of requests to workers (docs/program/workers.md)."""

from typing import Annotated, Any, cast

from pydantic import Field, StrictInt

from atoll.domain.route.policy import ExecutionMode
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
from atoll.services.workers.workers import MAX_WAIT_MS
from atoll.surfaces.http.body.fields import Body, Seconds, Word
from atoll.surfaces.http.sandboxes.create_body import RepoBody

MAX_REPOS = 20
WorkerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", strict=True)]
RequestName = Annotated[str, Field(pattern=r"^[!-~]{1,128}$", strict=True)]
MethodName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_/]{0,127}$", strict=True)]
Value = Annotated[str, Field(max_length=LONGEST_METADATA, strict=True)]


class TeardownBody(Body):
    """The fate of a stopped worker's sandbox; `retain_for` is a duration."""

    policy: TeardownPolicy = TeardownPolicy.RETAIN
    retain_for: Seconds | None = None


class WorkerBody(Body):
    """A worker to create, or to reattach by its `worker_id`. Without `backend` the policy chooses
    one. References are names such as `sandbox:<id>/workspace`."""

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
    """The thread that a person takes; without one it is the newest."""

    thread_id: Word | None = None


class StopWorkerBody(Body):
    """Why a worker is stopped, where somebody says."""

    reason: Word | None = None
