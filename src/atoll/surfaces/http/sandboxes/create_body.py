"""The body of a request for a sandbox, and its parts."""

from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field

from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import Access, Scope, WorkspaceMode
from atoll.domain.profile.schema import workspace_mode
from atoll.domain.sandbox.instructions import MAX_INSTRUCTIONS
from atoll.domain.sandbox.project import ProjectRequest
from atoll.domain.sandbox.sandbox import (
    Consumer,
    CreateSandbox,
    Inputs,
    RepoRequest,
    SetupMetadata,
)
from atoll.domain.sandbox.task import MAX_PROMPT, AgentMode, TaskRequest
from atoll.surfaces.http.body.fields import Address, Body, Seconds, Word
from atoll.surfaces.http.body.route_body import InputsBody, MountBody, RouteOptionsBody
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import MAX_MOUNTS
from atoll.wire.words.terminals import Strictness

T = TypeVar("T")

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
    """The way in which the agent takes the prompt: at a terminal, or as a machine that may ask;
    left out, at a terminal where the agent has that mode.

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
        return ProjectRequest(self.digest, _value_if_named(self, "setup", self.setup == "later"))


class CreateBody(Body):
    """A request for a sandbox; every field may be left out. `host` is the one it is placed on, and
    no other then; `route` narrows the profile's choice of a backend."""

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
    host: Word | None = None
    route: RouteOptionsBody = RouteOptionsBody()

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
            host=self.host,
            route=self.route.to_domain(),
        )

    def _task(self) -> TaskRequest | None:
        task = self.task
        if self.prompt is None:
            if task != TaskBody():
                raise Invalid("a task needs its words: send them as `prompt`", field="task")
            return None
        return TaskRequest(
            self.prompt,
            _value_if_named(task, "mode", task.mode),
            _value_if_named(task, "permissions", task.permissions == "ask"),
            task.group,
            task.max_working,
        )


def _value_if_named(body: Body, field: str, value: T) -> T | None:
    """Return the value of a field that the caller named, None of one that was left out."""
    return value if field in body.model_fields_set else None
