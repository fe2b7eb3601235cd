"""Routes of sandboxes: create, read, stop, start, recreate, destroy."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query
from pydantic import AfterValidator, BeforeValidator, Field
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import MAX_MOUNTS, HostMount
from atoll.domain.network.network import NetworkMode
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import ActorKind, Principal
from atoll.domain.profile.profile import Access, Scope, WorkspaceMode
from atoll.domain.profile.schema import workspace_mode
from atoll.domain.sandbox.instructions import MAX_INSTRUCTIONS
from atoll.domain.sandbox.project import ProjectRequest
from atoll.domain.sandbox.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    RepoRequest,
    Sandbox,
    SetupMetadata,
    State,
)
from atoll.domain.sandbox.task import MAX_PROMPT, AgentMode, TaskRequest
from atoll.domain.terminal.softlock import Strictness
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.fields import (
    Address,
    Body,
    ResponseModel,
    SandboxRef,
    Seconds,
    Wait,
    Waiting,
    Word,
)
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import at_most
from atoll.surfaces.http.sandboxes.view import SandboxView, sandbox_view, sandbox_views
from atoll.surfaces.http.server.context import Atoll, Caller, CallerSandbox
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/sandboxes", tags=["sandboxes"], route_class=JsonRoute)

MAX_REPOS = 16
MAX_ENV = 200
MAX_REFS = 100
MAX_SPARSE = 100
MAX_COPIES = 100


Instructions = Annotated[str, Field(min_length=1, max_length=MAX_INSTRUCTIONS, strict=True)]


Prompt = Annotated[str, Field(min_length=1, max_length=MAX_PROMPT, strict=True)]


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


def _mode(word: object) -> object:
    return (workspace_mode(word) or word) if isinstance(word, str) else word


class WorkspaceBody(Body):
    """The workspace's mode and access; what is left out takes the profile's value."""

    mode: Annotated[WorkspaceMode, BeforeValidator(_mode)] | None = None
    access: Access | None = None


class MountBody(Body):
    """A directory of the host.

    `grant` is the consent of the person at this machine, made by the command line. A directory that
    holds keys or logins is `private_folder` unless `private` agrees to it.
    """

    source: Address
    target: Address
    access: Literal["ro", "rw"] = "ro"
    grant: Word | None = None
    private: bool = False

    def to_domain(self) -> HostMount:
        """Return the domain's value."""
        writable = self.access == "rw"
        return HostMount(self.source, self.target, writable, self.grant or "", self.private)


class InputsBody(Body):
    """The references of the consumer: `repo_ref` is the repository where `repos` names none."""

    repo_ref: Address | None = None
    compose_bundle_ref: Address | None = None


class SetupBody(Body):
    """Words for the agent, or `repo:PATH`, a file of the repository that holds them; and names
    of secrets."""

    instructions: Instructions | None = None
    instructions_ref: Address | None = None
    secret_refs: Annotated[tuple[Address, ...], Field(max_length=MAX_REFS)] = ()


class ConsumerBody(Body):
    """The consumer for which the sandbox exists."""

    actor: ActorKind = ActorKind.PERSON
    harness: Word | None = None
    session_id: Word | None = None
    run_id: Word | None = None
    job_id: Word | None = None


class TaskBody(Body):
    """The way in which the agent takes the prompt: at a terminal, or as a machine that may ask.

    `group` names the sandboxes that received the same prompt. It is queued while `max_working`
    tasks of the caller are at work; left out, the setting counts."""

    mode: AgentMode = AgentMode.TUI
    permissions: Literal["allow", "ask"] = "allow"
    group: Word | None = None
    max_working: Annotated[int, Field(ge=1, le=1000, strict=True)] | None = None


class ProjectUseBody(Body):
    """An approved project of the first repository, by its digest. With the set-up `later` the
    caller starts it itself, after it sent its files."""

    digest: Annotated[str, Field(min_length=64, max_length=64, strict=True)]
    setup: Literal["now", "later"] = "now"

    def to_domain(self) -> ProjectRequest:
        """Return the domain's value."""
        return ProjectRequest(self.digest, self.setup == "later")


class CreateBody(Body):
    """A request for a sandbox; every field may be left out."""

    profile: Word = "shell"
    profile_version: Word | None = None
    name: Word | None = None
    agent: Word | None = None
    agent_catalogue: Annotated[tuple[Word, ...], Field(max_length=MAX_REFS)] | None = None
    scope: Scope | None = None
    workspace: WorkspaceBody = WorkspaceBody()
    repos: Annotated[tuple[RepoBody, ...], Field(max_length=MAX_REPOS)] = ()
    mounts: Annotated[tuple[MountBody, ...], Field(max_length=MAX_MOUNTS)] = ()
    copies: Annotated[tuple[Address, ...], Field(max_length=MAX_COPIES)] = ()
    cwd: Address | None = None
    inputs: InputsBody = InputsBody()
    ttl: Seconds | None = None
    network_mode: NetworkMode | None = None
    softlock: Strictness | None = None
    env: Annotated[
        dict[Word, Annotated[str, Field(max_length=32768, strict=True)]],
        Field(max_length=MAX_ENV, default_factory=dict),
    ]
    setup_metadata: SetupBody = SetupBody()
    consumer: ConsumerBody = ConsumerBody()
    prompt: Prompt | None = None
    task: TaskBody = TaskBody()
    project: ProjectUseBody | None = None

    def to_domain(self) -> CreateSandbox:
        """Return the domain's value."""
        setup = self.setup_metadata
        return CreateSandbox(
            profile=self.profile,
            profile_version=self.profile_version,
            name=self.name,
            agent=self.agent,
            agent_catalogue=self.agent_catalogue,
            scope=self.scope,
            workspace_mode=self.workspace.mode,
            access=self.workspace.access,
            repos=tuple(repo.to_domain() for repo in self.repos),
            mounts=tuple(mount.to_domain() for mount in self.mounts),
            copies=self.copies,
            cwd=self.cwd,
            inputs=Inputs(**self.inputs.model_dump()),
            ttl_seconds=None if self.ttl is None else int(self.ttl),
            network_mode=self.network_mode,
            softlock=self.softlock,
            env=tuple(self.env.items()),
            setup_metadata=SetupMetadata(
                setup.instructions_ref, setup.secret_refs, setup.instructions
            ),
            consumer=Consumer(**self.consumer.model_dump()),
            task=self._task(),
            project=None if self.project is None else self.project.to_domain(),
        )

    def _task(self) -> TaskRequest | None:
        task = self.task
        if self.prompt is None:
            if task != TaskBody():
                raise Invalid("a task needs its words: send them as `prompt`", field="task")
            return None
        asks = task.permissions == "ask"
        return TaskRequest(self.prompt, task.mode, asks, task.group, task.max_working)


class ExtendBody(Body):
    """The time to add."""

    ttl: Seconds


class SandboxPage(ResponseModel):
    """A page, newest first; `next` is the following `cursor`."""

    sandboxes: list[SandboxView]
    next: str | None


MAX_LOG_LINES = 2000
"""The newest lines of a provisioning log that are answered."""


class LogLineView(ResponseModel):
    """A step of provisioning."""

    at: str
    text: str


class LogView(ResponseModel):
    """The log of provisioning."""

    lines: list[LogLineView]


def _printable(key: str | None) -> str | None:
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ValueError("must be printable ASCII")
    return key


IdempotencyKey = Annotated[
    str | None,
    Header(
        description="Repeating a create with the same key within 24 h gives the same sandbox.",
        min_length=1,
        max_length=200,
    ),
    AfterValidator(_printable),
]
_ONE: dict[str, Any] = {"response_model": SandboxView, "responses": problems(404, 409)}
_ACT: dict[str, Any] = {**_ONE, "status_code": 202}


@router.post(
    "",
    status_code=202,
    response_model=SandboxView,
    responses={
        201: {"model": SandboxView, "description": "Created, and ready or failed."},
        **problems(404, 409, 413, 502),
    },
)
@needs(Capability.SANDBOX_CREATE)
async def create_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    body: CreateBody,
    wait: Waiting,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Create a sandbox.

    Answers at once with 202. `?wait=ready` answers 201 once it is ready (or has failed: see `state`
    and `reason`).
    """
    made, status = await create(atoll, caller, body, wait=wait, key=idempotency_key)
    view = await sandbox_view(atoll, made)
    return Json(view, status, headers={"Location": f"/v1/sandboxes/{made.id}"})


async def create(
    atoll: Application, caller: Principal, body: CreateBody, *, wait: Wait, key: str | None
) -> tuple[Sandbox, int]:
    """Return a new sandbox, after the requested wait, and the status to answer with."""
    made = await atoll.sandboxes.create(caller, body.to_domain(), idempotency_key=key)
    if wait.seconds is None:
        return made, 202
    made = await atoll.sandboxes.wait(caller, made.id, timeout_seconds=wait.seconds)
    return made, 202 if made.state in {State.REQUESTED, State.PROVISIONING} else 201


@router.get("", response_model=SandboxPage, responses=problems())
@needs(Capability.SANDBOX_READ)
async def list_sandboxes(
    atoll: Atoll,
    caller: Caller,
    *,
    state: Annotated[list[State], Query(description="Only these states.", max_length=9)] = [],  # noqa: B006 - FastAPI copies it
    cursor: Annotated[str | None, Query(min_length=1, max_length=500)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Return the caller's sandboxes; destroyed ones only when requested by state."""
    page = await atoll.sandboxes.list(caller, states=tuple(state), cursor=cursor, limit=limit)
    views = await sandbox_views(atoll, page.sandboxes)
    return Json({"sandboxes": views, "next": page.next})


@router.get("/{sandbox}", response_model=SandboxView, responses=problems(404))
@needs(Capability.SANDBOX_READ)
async def get_sandbox(atoll: Atoll, at: CallerSandbox, *, wait: Waiting) -> Response:
    """Return one sandbox; `?wait=ready` waits until it is ready or can no longer become so."""
    if wait.seconds is None:
        return Json(await sandbox_view(atoll, await atoll.sandboxes.get(*at)))
    found = await atoll.sandboxes.wait(*at, timeout_seconds=wait.seconds)
    return Json(await sandbox_view(atoll, found))


@router.post("/{sandbox}/stop", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def stop_sandbox(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, wait: Waiting
) -> Response:
    """End the sandbox's processes and keep its workspace; `?wait=true` waits for the end."""
    return await _settled(atoll, caller, await atoll.sandboxes.stop(caller, sandbox), wait=wait)


@router.post("/{sandbox}/start", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def start_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: SandboxRef,
    wait: Waiting,
    resume_agents: Annotated[
        bool | None,
        Query(description="Whether agents that ran are resumed; left out, the profile decides."),
    ] = None,
) -> Response:
    """Start a stopped, expired or failed sandbox; its agents resume their conversations."""
    changed = await atoll.sandboxes.start(caller, sandbox, resume_agents=resume_agents)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/setup", response_model=SandboxView, responses=problems(404, 409, 503))
@needs(Capability.SANDBOX_MANAGE)
async def run_setup(atoll: Atoll, at: CallerSandbox) -> Response:
    """Run the approved set-up commands of its project, in a new terminal."""
    return Json(await sandbox_view(atoll, await atoll.sandboxes.run_setup(*at)))


@router.post("/{sandbox}/task/begin", response_model=SandboxView, responses=problems(404, 409, 503))
@needs(Capability.SANDBOX_MANAGE)
async def begin_task(atoll: Atoll, at: CallerSandbox) -> Response:
    """Begin a task that waits for the set-up, although that failed or still runs."""
    return Json(await sandbox_view(atoll, await atoll.sandboxes.begin_task(*at)))


@router.post("/{sandbox}/recreate", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def recreate_sandbox(
    atoll: Atoll, caller: Caller, *, sandbox: SandboxRef, wait: Waiting
) -> Response:
    """Provision the sandbox anew under the same id, after saving commits nobody pulled."""
    changed = await atoll.sandboxes.recreate(caller, sandbox)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/destroy", **_ACT)
@router.delete("/{sandbox}", **_ACT)
@needs(Capability.SANDBOX_MANAGE)
async def destroy_sandbox(
    atoll: Atoll,
    caller: Caller,
    *,
    sandbox: SandboxRef,
    wait: Waiting,
    keep_worktree: Annotated[
        bool, Query(description="Write its files and new commits down on the server first.")
    ] = False,
    secrets: Annotated[
        Literal["refuse", "allow"] | None,
        Query(description="Whether files that contain a secret of the owner may be kept."),
    ] = None,
) -> Response:
    """Destroy the sandbox permanently; repeating it is not an error.

    With `keep_worktree`, `kept_at` names where its files are. Nothing is destroyed when they cannot
    be kept.
    """
    if keep_worktree:
        allowed = secrets == "allow"
        changed = await atoll.kept.destroy(caller, sandbox, with_secrets=allowed)
    else:
        changed = await atoll.sandboxes.destroy(caller, sandbox)
    return await _settled(atoll, caller, changed, wait=wait)


@router.post("/{sandbox}/extend_ttl", response_model=SandboxView, responses=problems(404, 409, 413))
@needs(Capability.SANDBOX_MANAGE)
async def extend_ttl(atoll: Atoll, at: CallerSandbox, *, body: ExtendBody) -> Response:
    """Extend the sandbox's time to live, never past `max_expires_at`. An ended sandbox is kept
    longer."""
    changed = await atoll.sandboxes.extend_ttl(*at, int(body.ttl))
    return Json(await sandbox_view(atoll, changed))


@router.get(
    "/{sandbox}/logs",
    response_model=LogView,
    responses=problems(404),
    openapi_extra=at_most(MAX_LOG_LINES),
)
@needs(Capability.SANDBOX_READ)
async def sandbox_logs(atoll: Atoll, at: CallerSandbox) -> Response:
    """Return the log of provisioning, step by step."""
    lines = (await atoll.sandboxes.logs(*at))[-MAX_LOG_LINES:]
    return Json({"lines": [LogLineView.of(line) for line in lines]})


async def _settled(atoll: Atoll, caller: Caller, sandbox: Sandbox, *, wait: Wait) -> Response:
    if wait.seconds is not None:
        # By id: a destroyed sandbox gives its name away.
        sandbox = await atoll.sandboxes.wait(
            caller, sandbox.id, settled=True, timeout_seconds=wait.seconds
        )
    return Json(await sandbox_view(atoll, sandbox), 202)
