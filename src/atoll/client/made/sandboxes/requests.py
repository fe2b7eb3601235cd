"""The body of a request for a sandbox, and its parts.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, Required, TypedDict

from atoll.client.made.hosts.routes import InputsBody, MountBody, RouteOptionsBody

WorkspaceMode = Literal["mirror", "remote-canonical"]

Access = Literal["none", "ro", "rw"]

ActorKind = Literal["adm", "agt", "atm"]

AgentMode = Literal["tui", "machine"]

Conversation = Literal["continue", "fresh", "none"]

Scope = Literal["session", "agent", "shared"]

NetworkMode = Literal["none", "limited", "host-only", "full"]

Strictness = Literal["owner", "strict"]


class RepoBody(TypedDict, total=False):
    """A repository. `repo_url`, or the `key` of one uploaded before; `sparse` are the
    directories of it to lay out, `path` is its place in the workspace."""

    repo_url: str | None
    branch: str | None
    from_branch: str | None
    key: str | None
    sparse: list[str]
    path: str | None


class WorkspaceBody(TypedDict, total=False):
    """The workspace's mode and access; what is left out takes the profile's value."""

    mode: WorkspaceMode | None
    access: Access | None


class SetupBody(TypedDict, total=False):
    """Words for the agent, or a reference to the file that holds them: `repo:PATH` of the
    sandbox's repository, `owner/repo@REF:PATH` or `upload:KEY@REF:PATH` of another; and names of
    secrets."""

    instructions: str | None
    instructions_ref: str | None
    secret_refs: list[str]


class ConsumerBody(TypedDict, total=False):
    """The consumer for which the sandbox exists."""

    actor: ActorKind
    harness: str | None
    session_id: str | None
    run_id: str | None
    job_id: str | None


class TaskBody(TypedDict, total=False):
    """The way in which the agent takes the prompt: at a terminal, or as a machine that may ask;
    left out, at a terminal where the agent has that mode. `group` names the sandboxes that
    received the same prompt. It is queued while `max_working` tasks of the caller are at work;
    left out, the setting counts. `issue` is the address of the issue or pull request it began
    with, which its own pull request answers."""

    mode: AgentMode
    permissions: Literal["allow", "ask"]
    group: str | None
    max_working: int | None
    issue: str | None


class ProjectUseBody(TypedDict, total=False):
    """An approved project of the first repository, by its digest. With the set-up `later` the
    caller starts it itself, after it sent its files."""

    digest: Required[str]
    setup: Literal["now", "later"]


class SeedBody(TypedDict, total=False):
    """A snapshot to begin as, by its id or name. It brings the recipe, the files and the
    repositories, which go on in `branch`."""

    snapshot: Required[str]
    conversation: Conversation
    branch: str | None


class LifecycleWebhookBody(TypedDict, total=False):
    """An endpoint for the events of the sandbox's life, and the custom secret, by name or id,
    whose value signs them (`whsec_…`, Standard Webhooks)."""

    url: Required[str]
    secret_ref: Required[str]


class CreateBody(TypedDict, total=False):
    """A request for a sandbox; every field may be left out. `host` is the one it is placed on,
    and no other then; `route` narrows the profile's choice of a backend."""

    profile: str
    profile_version: str | None
    name: str | None
    agent: str | None
    agent_catalogue: list[str] | None
    scope: Scope | None
    workspace: WorkspaceBody
    repos: list[RepoBody]
    mounts: list[MountBody]
    copies: list[str]
    cwd: str | None
    inputs: InputsBody
    ttl: int | str | None
    network_mode: NetworkMode | None
    softlock: Strictness | None
    env: dict[str, str]
    setup_metadata: SetupBody
    consumer: ConsumerBody
    prompt: str | None
    task: TaskBody
    project: ProjectUseBody | None
    host: str | None
    route: RouteOptionsBody
    seed: SeedBody | None
    lifecycle_webhook: LifecycleWebhookBody | None
