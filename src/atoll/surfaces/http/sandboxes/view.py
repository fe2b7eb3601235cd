"""A sandbox as the API shows it, everywhere the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from atoll.domain.errors import AWAY
from atoll.domain.profile.profile import Access, Scope, WorkspaceMode
from atoll.domain.sandbox.lifetime import ends_soon
from atoll.domain.sandbox.metadata import metadata_of
from atoll.domain.sandbox.project import SandboxProject, SetupState
from atoll.domain.sandbox.reported import ReportedAgent
from atoll.domain.sandbox.sandbox import (
    RUNNING,
    Consumer,
    Inputs,
    Sandbox,
    SandboxRepo,
    State,
)
from atoll.domain.sandbox.task import AgentMode, Task, TaskState
from atoll.ports.extension import ReachTroubles
from atoll.services.application import Application
from atoll.surfaces.http.agents.status_view import SandboxAgentView
from atoll.surfaces.http.body.fields import ResponseModel
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel

Instant = str


class ProfileName(ResponseModel):
    """The name and version of a profile."""

    id: str
    version: str


class WorkspaceView(ResponseModel):
    """The workspace's mode, and the sandbox's access to it."""

    mode: WorkspaceMode
    access: Access


class IsolationView(ResponseModel):
    """The isolation that the wall truly gives."""

    level: IsolationLevel
    mechanism: str
    degraded: list[str]
    weak: bool
    host_uid: int | None
    init: str


class ReachabilityView(ResponseModel):
    """The address at which its runtime answers."""

    runtime: str
    ssh: str | None
    tunnel: str | None


class RepoView(ResponseModel):
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


class MetadataView(ResponseModel):
    """The first repository and the network, in the terms of other tools."""

    repo_url: str | None
    branch: str | None
    from_branch: str | None
    network_mode: NetworkMode
    sync_ssh: int
    ssh_mode: Literal["disabled"]
    mounts: list[str]
    copies: list[str]


class SetupView(ResponseModel):
    """The agent's instructions, once they are known, their source and whether an agent has them;
    and names of secrets."""

    instructions: str | None
    instructions_ref: str | None
    instructed: bool
    secret_refs: list[str]


class TaskView(ResponseModel):
    """The task of the agent. `group` names the sandboxes that received the same prompt,
    `reason` says why it failed, `before` how
    many queued tasks come before it."""

    prompt: str
    mode: AgentMode
    permissions: Literal["allow", "ask"]
    group: str | None
    state: TaskState
    reason: str | None
    max_working: int | None
    before: int


class SandboxProjectView(ResponseModel):
    """The approved project: its set-up commands and their state, `terminal_id` the terminal they
    run in, `reason` why they failed; ports to forward, and files that the caller sends."""

    repository: str
    digest: str
    state: SetupState
    terminal_id: str | None
    reason: str | None
    setup: list[str]
    ports: list[int]
    copies: list[str]


class SandboxView(ResponseModel):
    """A sandbox. In a list `inputs.compose_bundle` is null."""

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
    created_at: Instant
    updated_at: Instant
    ready_at: Instant | None
    last_active_at: Instant | None
    last_used_at: Instant | None
    expires_at: Instant
    max_expires_at: Instant
    ends_soon: bool
    idle_reap_seconds: int | None
    idle_stop_seconds: int | None
    retained_until: Instant | None
    kept_at: str | None
    poll_url: str
    agents: list[SandboxAgentView]


async def sandbox_view(atoll: Application, sandbox: Sandbox) -> dict[str, Any]:
    """Return the members of `SandboxView`, with what the sandbox's agents do."""
    agents = await atoll.statuses.of((sandbox,))
    return _view(_with_trouble(atoll, sandbox), agents[sandbox.id])


async def sandbox_views(atoll: Application, sandboxes: Sequence[Sandbox]) -> list[dict[str, Any]]:
    """Return the same for several sandboxes, without the compose files that came with them."""
    agents = await atoll.statuses.of(sandboxes)
    return [_view(_with_trouble(atoll, _listed(one)), agents[one.id]) for one in sandboxes]


def _with_trouble(atoll: Application, sandbox: Sandbox) -> Sandbox:
    """Return a sandbox that runs with the reason why its machine is not reached now."""
    extension = atoll.backends.extensions.get(sandbox.profile.extension)
    if sandbox.state not in RUNNING or not isinstance(extension, ReachTroubles):
        return sandbox
    trouble = extension.trouble_of(sandbox.id)
    return sandbox if trouble is None else replace(sandbox, reason=f"{AWAY}{trouble}")


def _listed(sandbox: Sandbox) -> Sandbox:
    if sandbox.inputs.compose_bundle is None:
        return sandbox
    return replace(sandbox, inputs=replace(sandbox.inputs, compose_bundle=None))


def _view(sandbox: Sandbox, agents: Sequence[ReportedAgent]) -> dict[str, Any]:
    profile, isolation = sandbox.profile, sandbox.attachment.isolation
    url = f"/v1/sandboxes/{sandbox.id}"
    return SandboxView.of(
        sandbox,
        sandbox_id=sandbox.id,
        extension=profile.extension,
        agent_catalogue=profile.agent_catalogue,
        agents_inside=sandbox.attachment.agents,
        workspace=WorkspaceView.of(profile.workspace),
        network_mode=profile.network.mode,
        softlock=profile.softlock,
        setup_metadata=SetupView.of(
            sandbox.setup_metadata,
            instructions=sandbox.instructions or None,
            instructed=sandbox.instructed,
        ),
        task=None if sandbox.task is None else _task(sandbox.task),
        project=None if sandbox.project is None else _project(sandbox.project),
        isolation=None if isolation is None else IsolationView.of(isolation),
        reachability={"runtime": url, "ssh": None, "tunnel": None},
        metadata=metadata_of(sandbox),
        repos=[_repo(repo) for repo in sandbox.repos],
        ends_soon=ends_soon(sandbox),
        idle_stop_seconds=profile.ttl.idle_stop_seconds,
        idle_reap_seconds=profile.ttl.idle_reap_seconds,
        poll_url=url,
        agents=[SandboxAgentView.of(one) for one in agents],
    )


def _repo(repo: SandboxRepo) -> dict[str, Any]:
    return RepoView.of(repo, from_branch=repo.from_branch or repo.began_from)


def _task(task: Task) -> dict[str, Any]:
    return TaskView.of(task, permissions="ask" if task.asks else "allow")


def _project(project: SandboxProject) -> dict[str, Any]:
    content = project.content
    return SandboxProjectView.of(
        project,
        setup=[*content.setup],
        ports=[*content.ports],
        copies=[*content.copies],
    )
