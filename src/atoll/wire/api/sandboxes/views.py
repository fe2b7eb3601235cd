"""A sandbox as the API shows it, everywhere the same."""

from typing import Literal

from atoll.wire.api.agents.agents import StatusView
from atoll.wire.api.operation import Answer
from atoll.wire.api.sandboxes.reachability import ReachabilityView
from atoll.wire.api.work.views import WorkView
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import (
    Access,
    AgentMode,
    IdleAction,
    Scope,
    SetupState,
    State,
    TaskState,
    WakePolicy,
    WorkspaceMode,
)
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel


class SandboxAgentView(Answer):
    """An agent of a sandbox, and what it does."""

    id: str
    agent: str
    mode: str
    status: StatusView


class ProfileName(Answer):
    """The name and version of a profile."""

    id: str
    version: str


class WorkspaceView(Answer):
    """The workspace's mode, and the sandbox's access to it."""

    mode: WorkspaceMode
    access: Access


class IsolationView(Answer):
    """The isolation that the wall truly gives."""

    level: IsolationLevel
    mechanism: str
    degraded: list[str]
    weak: bool
    host_uid: int | None
    init: str


class RepoView(Answer):
    """A repository inside. `submodules` are paths of those that are not laid out, `lfs_files`
    counts files that are pointers to objects of LFS, both as of its last start."""

    repo_url: str
    branch: str
    from_branch: str | None
    path: str
    key: str | None
    sparse: list[str]
    submodules: list[str]
    lfs_files: int


class MetadataView(Answer):
    """The first repository and the network, in the terms of other tools."""

    repo_url: str | None
    branch: str | None
    from_branch: str | None
    network_mode: NetworkMode
    sync_ssh: int
    ssh_mode: Literal["gateway"]
    mounts: list[str]
    copies: list[str]


class Inputs(Answer):
    """The references of the consumer: `repo_ref` is the sandbox's repository where `repos` names
    none, with the branch or tag that its own begins at, `compose_bundle_ref` the compose file of a
    backend that runs one, or its folder, as `repo:PATH`, and `compose_bundle` the text of such a
    file, where it was uploaded."""

    repo_ref: str | None
    compose_bundle_ref: str | None
    compose_bundle: str | None


class SetupView(Answer):
    """The agent's instructions, once they are known, their source and whether an agent has them;
    and names of secrets."""

    instructions: str | None
    instructions_ref: str | None
    instructed: bool
    secret_refs: list[str]


class Consumer(Answer):
    """The consumer for which the sandbox exists; at most one of the three ids is usual."""

    actor: ActorKind
    harness: str | None
    session_id: str | None
    run_id: str | None
    job_id: str | None


class TaskView(Answer):
    """The task of the agent. `group` names the sandboxes that received the same prompt, `reason`
    says why it failed, `before` how many queued tasks come before it. `issue` is the address of the
    issue or pull request it began with."""

    prompt: str
    mode: AgentMode
    permissions: Literal["allow", "ask"]
    group: str | None
    state: TaskState
    reason: str | None
    max_working: int | None
    before: int
    issue: str | None


class SandboxProjectView(Answer):
    """The approved project: its set-up commands and their state, `terminal_id` the terminal they
    run in, `reason` why they failed; servers' commands by terminal, ports to forward, and files
    that the caller sends. `prebuilt_at`: when the snapshot was taken that the sandbox began as
    instead of running its set-up."""

    repository: str
    digest: str
    state: SetupState
    terminal_id: str | None
    reason: str | None
    setup: list[str]
    servers: dict[str, str]
    ports: list[int]
    copies: list[str]
    prebuilt_at: str | None


class SandboxView(Answer):
    """A sandbox. In a list `inputs.compose_bundle` is null. `idle_action` comes after
    `idle_stop_seconds` without use. `asleep`: it is stopped, and using it wakes it; while that is
    under way only `asleep_since` tells it."""

    sandbox_id: str
    name: str
    state: State
    generation: int
    reason: str | None
    leftovers: list[str]
    parent: str | None
    profile: ProfileName
    extension: str
    host: str
    region: str
    route: str | None
    agent: str | None
    agent_catalogue: list[str] | None
    agents_inside: list[str] | None
    scope: Scope
    workspace: WorkspaceView
    network_mode: NetworkMode
    softlock: Strictness
    inputs: Inputs
    setup_metadata: SetupView
    consumer: Consumer
    task: TaskView | None
    project: SandboxProjectView | None
    isolation: IsolationView | None
    reachability: ReachabilityView
    metadata: MetadataView
    repos: list[RepoView]
    cwd: str
    exposed_secrets: list[str]
    owner: str
    org_id: str
    created_at: str
    updated_at: str
    ready_at: str | None
    last_active_at: str | None
    last_used_at: str | None
    expires_at: str
    max_expires_at: str
    ends_soon: bool
    idle_reap_seconds: int | None
    idle_stop_seconds: int | None
    idle_action: IdleAction
    wake: WakePolicy
    retained_until: str | None
    archived_at: str | None
    asleep: bool
    asleep_since: str | None
    kept_at: str | None
    poll_url: str
    agents: list[SandboxAgentView]
    work: WorkView | None
