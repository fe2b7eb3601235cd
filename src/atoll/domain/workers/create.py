"""The request that creates a worker or reattaches it, and its judgement.

References name things of Atoll (`sandbox:<id>/workspace`), never paths of a host.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NewType

from atoll.domain.duration import MAX_SECONDS
from atoll.domain.errors import Invalid
from atoll.domain.routes.health import Attempt
from atoll.domain.routes.policy import DESKTOP, RouteOptions
from atoll.domain.sandboxes.sandbox import RepoRequest
from atoll.domain.workers.selection import (
    NO_SELECTION,
    Selection,
    extension_of,
    judge_selection,
    options_of,
)
from atoll.wire.words.routes import ExecutionMode
from atoll.wire.words.workers import LONGEST_METADATA, MOST_METADATA, Permissions, TeardownPolicy

WorkerId = NewType("WorkerId", str)

RETENTION_SECONDS: Final = 7 * 86400
"""The time that a stopped worker is retained where the request names none."""


WORKSPACE: Final = "workspace"
AGENT_HOME: Final = "agent-home"
PARTS: Final = {"workspace_ref": WORKSPACE, "codex_home_ref": AGENT_HOME}
"""The parts of a place that references name, by their field."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_REF = re.compile(r"sandbox:(?P<sandbox>sb_[a-z0-9]{1,64})/(?P<part>workspace|agent-home)\Z")
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z")


@dataclass(frozen=True, slots=True)
class WorkerTeardown:
    """A policy of teardown. Raises `Invalid`: only a retained worker has `retain_seconds`."""

    policy: TeardownPolicy = TeardownPolicy.RETAIN
    retain_seconds: int | None = None

    def __post_init__(self) -> None:
        seconds = self.retain_seconds
        if seconds is None:
            return
        if self.policy is TeardownPolicy.IMMEDIATE:
            raise Invalid(
                "an immediate teardown retains nothing: leave retain_for out, or retain",
                field="teardown.retain_for",
            )
        if not 1 <= seconds <= MAX_SECONDS:
            raise Invalid(
                "retain_for lies between 1 second and 365 days", field="teardown.retain_for"
            )

    @property
    def kept_seconds(self) -> int:
        """The seconds for which a stopped worker is kept; 0 where it is removed at once."""
        if self.policy is TeardownPolicy.IMMEDIATE:
            return 0
        return self.retain_seconds or RETENTION_SECONDS


DEFAULT_TEARDOWN: Final = WorkerTeardown()
"""The policy of a request that names none."""


@dataclass(frozen=True, slots=True)
class CreateWorker:
    """A request for a worker. Without `backend` the policy chooses one, within `selection`."""

    worker_id: WorkerId
    agent: str = "codex"
    backend: str | None = None
    execution_mode: ExecutionMode | None = None
    profile: str | None = None
    repos: tuple[RepoRequest, ...] = ()
    workspace_ref: str | None = None
    codex_home_ref: str | None = None
    thread_id: str | None = None
    permissions: Permissions = Permissions.ALLOW
    teardown: WorkerTeardown = DEFAULT_TEARDOWN
    metadata: Mapping[str, str] = field(default_factory=dict)
    selection: Selection = NO_SELECTION

    @property
    def on_desktop(self) -> bool:
        """Report whether it is to be on a desktop, and nowhere else."""
        named = self.backend is not None and extension_of(self.backend) == DESKTOP
        return named or self.execution_mode is ExecutionMode.DESKTOP

    @property
    def only_mode(self) -> ExecutionMode | None:
        """The only kind of machine that the request admits, None where it may be on either."""
        if self.on_desktop:
            return ExecutionMode.DESKTOP
        elsewhere = self.backend is not None or self.execution_mode is not None
        if elsewhere or self.named_sandbox is not None or self.repos:
            return ExecutionMode.SANDBOX
        return None

    @property
    def named_sandbox(self) -> str | None:
        """The id of the sandbox that the worker moves into, where its references name one."""
        found = None if self.workspace_ref is None else _REF.match(self.workspace_ref)
        return None if found is None else found["sandbox"]

    def route(self, failed: tuple[Attempt, ...] = ()) -> RouteOptions:
        """Return what routes are asked for, after these starts that failed."""
        return options_of(
            self.selection,
            backend=self.backend,
            execution_mode=self.execution_mode,
            failed=failed,
        )


def judge_create(request: CreateWorker, agents: frozenset[str]) -> None:
    """Judge a request by itself; `agents` are those that can be workers. Raises `Invalid`."""
    if not _ID.match(request.worker_id):
        raise Invalid(
            "a worker_id has 1 to 64 letters, digits, dots, hyphens and underscores, and begins "
            "with a letter or a digit",
            field="worker_id",
        )
    if request.agent not in agents:
        raise Invalid(
            f"{request.agent[:40]!r} is no agent of workers: write one of "
            f"{', '.join(sorted(agents))}",
            field="agent",
        )
    judge_selection(request.selection, request.backend)
    _judge_place(request)
    if request.on_desktop and request.repos:
        raise Invalid(
            "a desktop works in the folder that its person named: leave repos out", field="repos"
        )
    _judge_names(request)
    _judge_metadata(request.metadata)


def _judge_place(request: CreateWorker) -> None:
    if request.execution_mode is None or request.backend is None:
        return
    desktop = extension_of(request.backend) == DESKTOP
    if desktop is not (request.execution_mode is ExecutionMode.DESKTOP):
        raise Invalid(
            f"backend {request.backend[:40]!r} is not of execution mode {request.execution_mode}: "
            "leave one of them out",
            field="execution_mode",
        )


def _judge_names(request: CreateWorker) -> None:
    named = set()
    for name, part in PARTS.items():
        reference = getattr(request, name)
        found = None if reference is None else _REF.match(reference)
        if reference is not None and (found is None or found["part"] != part):
            raise Invalid(f"{name} names sandbox:<id>/{part}, and no path", field=name)
        if found is not None:
            named.add(found["sandbox"])
    if request.codex_home_ref is not None and (request.workspace_ref is None or len(named) > 1):
        raise Invalid(
            "an agent's home is used with the workspace of its sandbox: name both",
            field="codex_home_ref",
        )
    if named:
        _judge_moved_in(request)
    if request.thread_id is not None and not _THREAD.match(request.thread_id):
        raise Invalid("thread_id is no id of a conversation", field="thread_id")


def _judge_moved_in(request: CreateWorker) -> None:
    """A sandbox that is there has its profile, its place, its repositories and its own end."""
    asked = {
        "backend": request.backend,
        "execution_mode": request.execution_mode,
        "profile": request.profile,
        "repos": request.repos,
        "selection": request.selection != NO_SELECTION,
        "teardown": request.teardown != DEFAULT_TEARDOWN,
    }
    for name, value in asked.items():
        if value:
            raise Invalid(
                f"workspace_ref names a sandbox that is there: leave {name} out", field=name
            )


def _judge_metadata(metadata: Mapping[str, str]) -> None:
    if len(metadata) > MOST_METADATA:
        raise Invalid(f"metadata has at most {MOST_METADATA} entries", field="metadata")
    for key, value in metadata.items():
        if not _ID.match(key) or len(value) > LONGEST_METADATA:
            raise Invalid(
                f"metadata has keys like a worker_id, and values of at most {LONGEST_METADATA} "
                "characters",
                field="metadata",
            )
