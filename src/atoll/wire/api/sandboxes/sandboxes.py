"""Sandboxes: create, read, stop, start, recreate, destroy."""

from typing import Annotated, Literal

from msgspec import Meta

from atoll.wire.api.annotations import Header
from atoll.wire.api.fields import NO_WAIT, SandboxRef, Seconds, Waiting
from atoll.wire.api.operation import Answer, Area, Request, operation
from atoll.wire.api.sandboxes.consumers import EVERY_CONSUMER, ConsumerQuery
from atoll.wire.api.sandboxes.requests import CreateBody
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import MAX_LOG_LINES, MAX_SANDBOX_PAGE, State

Archived = Annotated[
    bool | None, Meta(description="Only those that are archived, or only those that are not.")
]
States = Annotated[list[State], Meta(description="Only these states.", max_length=9)]
EVERY_STATE: States = []

SandboxCursor = Annotated[str, Meta(min_length=1, max_length=500)]
SandboxLimit = Annotated[int, Meta(ge=1, le=MAX_SANDBOX_PAGE)]

IdempotencyKey = Annotated[
    Annotated[str, Meta(min_length=1, max_length=200)] | None,
    Header("idempotency-key"),
    Meta(description="Repeating a create with the same key within 24 h gives the same sandbox."),
]
Unpulled = Annotated[
    Literal["lose", "refuse"] | None,
    Meta(description="What becomes of work that nobody has outside: by default it is lost."),
]
KeepWorktree = Annotated[
    bool, Meta(description="Write its files and new commits down on the server first.")
]
KeptSecrets = Annotated[
    Literal["refuse", "allow"] | None,
    Meta(description="Whether files that contain a secret of the owner may be kept."),
]
ResumeAgents = Annotated[
    bool | None,
    Meta(description="Whether agents that ran are resumed; left out, the profile decides."),
]


class ExtendBody(Request):
    """The time to add."""

    ttl: Seconds


class SandboxPage(Answer):
    """A page, newest first; `next` is the following `cursor`."""

    sandboxes: list[SandboxView]
    next: str | None


class LogLineView(Answer):
    """A step of provisioning."""

    at: str
    text: str


class LogView(Answer):
    """The log of provisioning."""

    lines: list[LogLineView]


class Sandboxes(Area):
    """The sandboxes of an installation."""

    tag = "sandboxes"
    needs = "sandbox.manage"

    @operation(
        "POST /v1/sandboxes",
        name="create_sandbox",
        status=202,
        needs="sandbox.create",
        also={201: "Created, and ready or failed."},
        problems=(404, 409, 413, 502),
    )
    def create(
        self,
        body: CreateBody,
        *,
        waiting: Waiting = NO_WAIT,
        idempotency_key: IdempotencyKey = None,
    ) -> SandboxView:
        """Create a sandbox.

        Answers at once with 202. `?wait=ready` answers 201 once it is ready (or has failed: see
        `state` and `reason`).
        """

    @operation("GET /v1/sandboxes", name="list_sandboxes", needs="sandbox.read")
    def list(
        self,
        *,
        state: States = EVERY_STATE,
        archived: Archived = None,
        consumers: ConsumerQuery = EVERY_CONSUMER,
        cursor: SandboxCursor | None = None,
        limit: SandboxLimit = 50,
    ) -> SandboxPage:
        """Return the caller's sandboxes; destroyed ones only when requested by state. `harness`,
        `session_id`, `run_id` and `job_id` select those that were created for it."""

    @operation(
        "GET /v1/sandboxes/{sandbox}", name="get_sandbox", needs="sandbox.read", problems=(404,)
    )
    def get(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """Return one sandbox; `?wait=ready` waits until it is ready or can no longer become so."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/stop", name="stop_sandbox", status=202, problems=(404, 409)
    )
    def stop(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """End the sandbox's processes and keep its workspace; `?wait=true` waits for the end."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/sleep", name="sleep_sandbox", status=202, problems=(404, 409)
    )
    def sleep(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """Let the sandbox sleep: its processes end, its files and its terminals' screens are kept,
        and whoever uses it wakes it; `?wait=true` waits for the end."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/start", name="start_sandbox", status=202, problems=(404, 409)
    )
    def start(
        self,
        sandbox: SandboxRef,
        *,
        waiting: Waiting = NO_WAIT,
        resume_agents: ResumeAgents = None,
    ) -> SandboxView:
        """Start a stopped, expired or failed sandbox; its agents resume their conversations."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/archive",
        name="archive_sandbox",
        status=202,
        problems=(404, 409),
    )
    def archive(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """Put a sandbox away: it stops, and keeps its files and conversations, without an end,
        until it is revived or destroyed."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/revive",
        name="revive_sandbox",
        status=202,
        problems=(404, 409),
    )
    def revive(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """Take an archived sandbox up again, with a whole time to live: it starts, and its agents
        resume their conversations."""

    @operation("POST /v1/sandboxes/{sandbox}/setup", name="run_setup", problems=(404, 409, 503))
    def run_setup(self, sandbox: SandboxRef) -> SandboxView:
        """Run the approved set-up commands of its project, in a new terminal."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/task/begin", name="begin_task", problems=(404, 409, 503)
    )
    def begin_task(self, sandbox: SandboxRef) -> SandboxView:
        """Begin a task that waits for the set-up, although that failed or still runs."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/recreate",
        name="recreate_sandbox",
        status=202,
        problems=(404, 409),
    )
    def recreate(self, sandbox: SandboxRef, *, waiting: Waiting = NO_WAIT) -> SandboxView:
        """Provision the sandbox anew under the same id, after saving commits nobody pulled."""

    @operation(
        "POST /v1/sandboxes/{sandbox}/destroy",
        name="destroy_sandbox",
        status=202,
        problems=(404, 409),
    )
    def destroy(
        self,
        sandbox: SandboxRef,
        *,
        waiting: Waiting = NO_WAIT,
        keep_worktree: KeepWorktree = False,
        secrets: KeptSecrets = None,
        unpulled: Unpulled = None,
    ) -> SandboxView:
        """Destroy the sandbox permanently; repeating it is not an error.

        With `keep_worktree`, `kept_at` names where its files are. Nothing is destroyed when they
        cannot be kept. With `unpulled=refuse` nothing is destroyed while the sandbox holds work
        that nobody has outside (`unpulled_work`), or that cannot be listed (`unpulled_unknown`).
        """

    delete = destroy.at("DELETE /v1/sandboxes/{sandbox}")

    @operation(
        "POST /v1/sandboxes/{sandbox}/extend_ttl", name="extend_ttl", problems=(404, 409, 413)
    )
    def extend_ttl(self, sandbox: SandboxRef, body: ExtendBody) -> SandboxView:
        """Extend the sandbox's time to live, never past `max_expires_at`. An ended sandbox is kept
        longer."""

    @operation(
        "GET /v1/sandboxes/{sandbox}/logs",
        name="sandbox_logs",
        needs="sandbox.read",
        problems=(404,),
        max_items=MAX_LOG_LINES,
    )
    def log(self, sandbox: SandboxRef) -> LogView:
        """Return the log of provisioning, step by step."""
