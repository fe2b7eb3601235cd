"""A sandbox as the API shows it, everywhere the same.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal

from atoll.client import fields
from atoll.client.fields import Field, Shape
from atoll.client.made.agents.agents import AgentStatus
from atoll.client.made.sandboxes.reachability import Reachability
from atoll.client.made.work.views import Work

WorkspaceMode = Literal["mirror", "remote-canonical"]

Access = Literal["none", "ro", "rw"]

IsolationLevel = Literal["none", "policy", "container", "microvm"]

NetworkMode = Literal["none", "limited", "host-only", "full"]

ActorKind = Literal["adm", "agt", "atm"]

AgentMode = Literal["tui", "machine"]

TaskState = Literal["queued", "waiting", "given", "failed"]

SetupState = Literal["none", "waiting", "running", "done", "failed"]

State = Literal[
    "requested",
    "provisioning",
    "ready",
    "active",
    "stopped",
    "expired",
    "failed",
    "destroying",
    "destroyed",
]

Scope = Literal["session", "agent", "shared"]

Strictness = Literal["owner", "strict"]

IdleAction = Literal["reap", "stop", "sleep"]

WakePolicy = Literal["access", "person", "never"]


class SandboxAgent(Shape):
    """An agent of a sandbox, and what it does."""

    id = fields.text()
    agent = fields.text()
    mode = fields.text()
    status = fields.one(AgentStatus)


class ProfileName(Shape):
    """The name and version of a profile."""

    id = fields.text()
    version = fields.text()


class Workspace(Shape):
    """The workspace's mode, and the sandbox's access to it."""

    mode: Field[WorkspaceMode] = fields.word()
    access: Field[Access] = fields.word()


class Isolation(Shape):
    """The isolation that the wall truly gives."""

    level: Field[IsolationLevel] = fields.word()
    mechanism = fields.text()
    degraded = fields.texts()
    weak = fields.flag()
    host_uid = fields.number()
    init = fields.text()


class Repo(Shape):
    """A repository inside. `submodules` are paths of those that are not laid out, `lfs_files`
    counts files that are pointers to objects of LFS, both as of its last start."""

    repo_url = fields.text()
    branch = fields.text()
    from_branch = fields.text()
    path = fields.text()
    key = fields.text()
    sparse = fields.texts()
    submodules = fields.texts()
    lfs_files = fields.number()


class Metadata(Shape):
    """The first repository and the network, in the terms of other tools."""

    repo_url = fields.text()
    branch = fields.text()
    from_branch = fields.text()
    network_mode: Field[NetworkMode] = fields.word()
    sync_ssh = fields.number()
    ssh_mode: Field[Literal["gateway"]] = fields.word()
    mounts = fields.texts()
    copies = fields.texts()


class Inputs(Shape):
    """The references of the consumer: `repo_ref` is the sandbox's repository where `repos` names
    none, with the branch or tag that its own begins at, `compose_bundle_ref` the compose file of
    a backend that runs one, or its folder, as `repo:PATH`, and `compose_bundle` the text of such
    a file, where it was uploaded."""

    repo_ref = fields.text()
    compose_bundle_ref = fields.text()
    compose_bundle = fields.text()


class Setup(Shape):
    """The agent's instructions, once they are known, their source and whether an agent has them;
    and names of secrets."""

    instructions = fields.text()
    instructions_ref = fields.text()
    instructed = fields.flag()
    secret_refs = fields.texts()


class Consumer(Shape):
    """The consumer for which the sandbox exists; at most one of the three ids is usual."""

    actor: Field[ActorKind] = fields.word()
    harness = fields.text()
    session_id = fields.text()
    run_id = fields.text()
    job_id = fields.text()


class Task(Shape):
    """The task of the agent. `group` names the sandboxes that received the same prompt, `reason`
    says why it failed, `before` how many queued tasks come before it. `issue` is the address of
    the issue or pull request it began with."""

    prompt = fields.text()
    mode: Field[AgentMode] = fields.word()
    permissions: Field[Literal["allow", "ask"]] = fields.word()
    group = fields.text()
    state: Field[TaskState] = fields.word()
    reason = fields.text()
    max_working = fields.number()
    before = fields.number()
    issue = fields.text()


class SandboxProject(Shape):
    """The approved project: its set-up commands and their state, `terminal_id` the terminal they
    run in, `reason` why they failed; servers' commands by terminal, ports to forward, and files
    that the caller sends. `prebuilt_at`: when the snapshot was taken that the sandbox began as
    instead of running its set-up."""

    repository = fields.text()
    digest = fields.text()
    state: Field[SetupState] = fields.word()
    terminal_id = fields.text()
    reason = fields.text()
    setup = fields.texts()
    servers = fields.named_texts()
    ports = fields.numbers()
    copies = fields.texts()
    prebuilt_at = fields.text()


class Sandbox(Shape):
    """A sandbox. In a list `inputs.compose_bundle` is null. `idle_action` comes after
    `idle_stop_seconds` without use. `asleep`: it is stopped, and using it wakes it; while that
    is under way only `asleep_since` tells it."""

    sandbox_id = fields.text()
    name = fields.text()
    state: Field[State] = fields.word()
    generation = fields.number()
    reason = fields.text()
    leftovers = fields.texts()
    parent = fields.text()
    profile = fields.one(ProfileName)
    extension = fields.text()
    host = fields.text()
    region = fields.text()
    route = fields.text()
    agent = fields.text()
    agent_catalogue = fields.texts()
    agents_inside = fields.texts()
    scope: Field[Scope] = fields.word()
    workspace = fields.one(Workspace)
    network_mode: Field[NetworkMode] = fields.word()
    softlock: Field[Strictness] = fields.word()
    inputs = fields.one(Inputs)
    setup_metadata = fields.one(Setup)
    consumer = fields.one(Consumer)
    task = fields.one(Task)
    project = fields.one(SandboxProject)
    isolation = fields.one(Isolation)
    reachability = fields.one(Reachability)
    metadata = fields.one(Metadata)
    repos = fields.many(Repo)
    cwd = fields.text()
    exposed_secrets = fields.texts()
    owner = fields.text()
    org_id = fields.text()
    created_at = fields.text()
    updated_at = fields.text()
    ready_at = fields.text()
    last_active_at = fields.text()
    last_used_at = fields.text()
    expires_at = fields.text()
    max_expires_at = fields.text()
    ends_soon = fields.flag()
    idle_reap_seconds = fields.number()
    idle_stop_seconds = fields.number()
    idle_action: Field[IdleAction] = fields.word()
    wake: Field[WakePolicy] = fields.word()
    retained_until = fields.text()
    archived_at = fields.text()
    asleep = fields.flag()
    asleep_since = fields.text()
    kept_at = fields.text()
    poll_url = fields.text()
    agents = fields.many(SandboxAgent)
    work = fields.one(Work)
