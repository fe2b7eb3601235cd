"""A profile: a named, versioned recipe of a sandbox.

The nouns only. `domain.profile.schema` reads them from YAML or JSON and reports errors with line
and field; the bundled ones are data in `atoll/profiles/`.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from atoll.domain.network.network import Network
from atoll.domain.routes.policy import DEFAULT_EXTENSION, RoutePolicy
from atoll.domain.tools.rule import ProfileTools
from atoll.domain.wall.resources import NO_LIMITS, Resources
from atoll.wire.words.sandboxes import (
    Access,
    CheckpointEnd,
    IdleAction,
    Scope,
    WakePolicy,
    WorkspaceMode,
)
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import IsolationLevel


class RootMode(StrEnum):
    """The root directory: read-only, or with a writable layer above it that counts against the
    workspace's quota. Programs can be installed only into the latter."""

    READ_ONLY = "readonly"
    OVERLAY = "overlay"


class Recording(StrEnum):
    """The terminals that are recorded: every one, or only where somebody requests it."""

    OFF = "off"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Safety:
    """The safety layers that a profile turns on.

    `shell`: warnings before dangerous commands, easily bypassed. `operator`: how commands begin
    that need a person's approval. `sudo`: whole commands that may be requested with privilege, word
    for word. `debug` removes one: debuggers may trace and read the sandbox's own processes.
    """

    shell: bool = False
    operator: tuple[tuple[str, ...], ...] = ()
    sudo: tuple[tuple[str, ...], ...] = ()
    debug: bool = False


@dataclass(frozen=True, slots=True)
class Workspace:
    """The working tree at `/workspace`."""

    mode: WorkspaceMode = WorkspaceMode.REMOTE_CANONICAL
    access: Access = Access.READ_WRITE
    scope_default: Scope = Scope.SESSION


@dataclass(frozen=True, slots=True)
class Ttl:
    """The seconds a sandbox lives.

    After `idle_reap_seconds` without input, exec or file change it expires. After
    `idle_stop_seconds` without any use comes the profile's idle action. None never does. It warns
    `warning_seconds` before its end. An ended sandbox is kept for `retention_seconds`.
    """

    default_seconds: int = 4 * 3600
    max_seconds: int = 24 * 3600
    idle_reap_seconds: int | None = None
    retention_seconds: int = 7 * 24 * 3600
    idle_stop_seconds: int | None = None
    warning_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class CheckpointRule:
    """The snapshots that are taken by themselves: after each `every_seconds` in which it was used,
    and after these ends. The newest `keep` of them are kept."""

    every_seconds: int | None = None
    keep: int = 5
    ends: tuple[CheckpointEnd, ...] = ()


@dataclass(frozen=True, slots=True)
class Setup:
    """The set-up of a sandbox.

    `instructions` are words for the agent, never run by Atoll; `secret_refs` are resolved at
    provision and never shown to the agent.
    """

    instructions: str = ""
    secret_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Placement:
    """The preferred hosts by name, in order."""

    prefer: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reach:
    """The ways for others to reach the sandbox: names of a tunnel and of an identity provider."""

    tunnel: str | None = None
    identity: str | None = None


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository of the profile."""

    repo_url: str
    branch: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A whole recipe.

    `extension` is the backend, and the only one unless a `route` says otherwise; empty where the
    route names none, or where the default route is to choose.
    `image` is `host`, a root tree, or an OCI reference; `root` tells whether a writable layer lies
    above it. `agent_catalogue` names the agents that may run; None allows all of the
    installation's. `resume_agents`: agents that ran when it stopped are resumed when it starts.
    `softlock`: whom an agent's lock stops while the agent works. `mcp`: the tools that its agents
    are given. `idle_action`: what comes after `ttl.idle_stop_seconds`; `wake`: who wakes it then.
    `checkpoint`: the snapshots that are taken by themselves, None for none. `seed`: the snapshot
    that its sandboxes begin as, by id or name, unless a create names another.
    """

    id: str
    version: str
    extension: str = DEFAULT_EXTENSION
    image: str = "host"
    root: RootMode = RootMode.READ_ONLY
    isolation: IsolationLevel = IsolationLevel.CONTAINER
    network: Network = field(default_factory=Network)
    safety: Safety = Safety()
    workspace: Workspace = Workspace()
    ttl: Ttl = Ttl()
    resources: Resources = NO_LIMITS
    setup: Setup = Setup()
    placement: Placement = Placement()
    reachability: Reach = Reach()
    repos: tuple[Repo, ...] = ()
    agent: str | None = None
    agent_catalogue: tuple[str, ...] | None = None
    shell: tuple[str, ...] = ("/bin/bash",)
    env: tuple[tuple[str, str], ...] = ()
    recording: Recording = Recording.OFF
    resume_agents: bool = True
    idle_action: IdleAction = IdleAction.STOP
    wake: WakePolicy = WakePolicy.ACCESS
    checkpoint: CheckpointRule | None = None
    seed: str | None = None
    softlock: Strictness = Strictness.OWNER
    description: str = ""
    cost_class: str = "self-hosted"
    latency_class: str = "standard"
    labels: tuple[tuple[str, str], ...] = field(default=())
    route: RoutePolicy | None = None
    mcp: ProfileTools = field(default_factory=ProfileTools)
