"""The body of a request for a sandbox, and its parts."""

from typing import Annotated, Literal

from msgspec import Meta, field

from atoll.wire.api.annotations import Unshown
from atoll.wire.api.fields import Address, Seconds, Word
from atoll.wire.api.hosts.routes import InputsBody, MountBody, RouteOptionsBody
from atoll.wire.api.operation import Request
from atoll.wire.words.events import ActorKind
from atoll.wire.words.library import MAX_REPOS
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import (
    MAX_COPIES,
    MAX_ENV,
    MAX_INSTRUCTIONS,
    MAX_MOUNTS,
    MAX_REFS,
    MAX_SPARSE,
    MAX_TASK_PROMPT,
    MAX_WORKING,
    Access,
    AgentMode,
    Conversation,
    Scope,
    WorkspaceMode,
)
from atoll.wire.words.terminals import Strictness

Instructions = Annotated[str, Meta(min_length=1, max_length=MAX_INSTRUCTIONS)]
Prompt = Annotated[str, Meta(min_length=1, max_length=MAX_TASK_PROMPT)]
Names = Annotated[tuple[Word, ...], Meta(max_length=MAX_REFS)]
EnvValue = Annotated[str, Meta(max_length=32768)]


class RepoBody(Request):
    """A repository.

    `repo_url`, or the `key` of one uploaded before; `sparse` are the directories of it to lay out,
    `path` is its place in the workspace.
    """

    repo_url: Address | None = None
    branch: Word | None = None
    from_branch: Word | None = None
    key: Word | None = None
    sparse: Annotated[tuple[Address, ...], Meta(max_length=MAX_SPARSE)] = ()
    path: Address | None = None


class WorkspaceBody(Request):
    """The workspace's mode and access; what is left out takes the profile's value."""

    mode: WorkspaceMode | None = None
    access: Access | None = None


class SetupBody(Request):
    """Words for the agent, or a reference to the file that holds them: `repo:PATH` of the sandbox's
    repository, `owner/repo@REF:PATH` or `upload:KEY@REF:PATH` of another; and names of secrets."""

    instructions: Instructions | None = None
    instructions_ref: Address | None = None
    secret_refs: Annotated[tuple[Address, ...], Meta(max_length=MAX_REFS)] = ()


class ConsumerBody(Request):
    """The consumer for which the sandbox exists."""

    actor: ActorKind = ActorKind.PERSON
    harness: Word | None = None
    session_id: Word | None = None
    run_id: Word | None = None
    job_id: Word | None = None


class TaskBody(Request):
    """The way in which the agent takes the prompt: at a terminal, or as a machine that may ask;
    left out, at a terminal where the agent has that mode.

    `group` names the sandboxes that received the same prompt. It is queued while `max_working`
    tasks of the caller are at work; left out, the setting counts. `issue` is the address of the
    issue or pull request it began with, which its own pull request answers."""

    mode: AgentMode = AgentMode.TUI
    permissions: Literal["allow", "ask"] = "allow"
    group: Word | None = None
    max_working: Annotated[int, Meta(ge=1, le=MAX_WORKING)] | None = None
    issue: Address | None = None


class ProjectUseBody(Request):
    """An approved project of the first repository, by its digest. With the set-up `later` the
    caller starts it itself, after it sent its files."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]
    setup: Literal["now", "later"] = "now"


class SeedBody(Request):
    """A snapshot to begin as, by its id or name. It brings the recipe, the files and the
    repositories, which go on in `branch`."""

    snapshot: Word
    conversation: Conversation = Conversation.CONTINUE
    branch: Word | None = None


class LifecycleWebhookBody(Request):
    """An endpoint for the events of the sandbox's life, and the custom secret, by name or id, whose
    value signs them (`whsec_…`, Standard Webhooks)."""

    url: Address
    secret_ref: Address


class CreateBody(Request):
    """A request for a sandbox; every field may be left out. `host` is the one it is placed on, and
    no other then; `route` narrows the profile's choice of a backend."""

    profile: Word = "shell"
    profile_version: Word | None = None
    name: Word | None = None
    agent: Word | None = None
    agent_catalogue: Names | None = None
    scope: Scope | None = None
    workspace: WorkspaceBody = field(default_factory=WorkspaceBody)
    repos: Annotated[tuple[RepoBody, ...], Meta(max_length=MAX_REPOS)] = ()
    mounts: Annotated[tuple[MountBody, ...], Meta(max_length=MAX_MOUNTS)] = ()
    copies: Annotated[tuple[Address, ...], Meta(max_length=MAX_COPIES)] = ()
    cwd: Address | None = None
    inputs: InputsBody = field(default_factory=InputsBody)
    ttl: Seconds | None = None
    network_mode: NetworkMode | None = None
    softlock: Strictness | None = None
    env: Annotated[dict[Word, EnvValue], Meta(max_length=MAX_ENV), Unshown()] = {}
    setup_metadata: SetupBody = field(default_factory=SetupBody)
    consumer: ConsumerBody = field(default_factory=ConsumerBody)
    prompt: Prompt | None = None
    task: TaskBody = field(default_factory=TaskBody)
    project: ProjectUseBody | None = None
    host: Word | None = None
    route: RouteOptionsBody = field(default_factory=RouteOptionsBody)
    seed: SeedBody | None = None
    lifecycle_webhook: LifecycleWebhookBody | None = None
