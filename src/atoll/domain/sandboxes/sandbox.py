"""A sandbox: the request for it, and its present state.

The nouns only. `domain.sandboxes.lifecycle.step` changes them; nothing here waits, reads a clock or
knows a backend.
"""

from dataclasses import dataclass, field
from datetime import datetime

from atoll.domain.agents.resumable import RunningAgent
from atoll.domain.errors import Conflict, Forbidden
from atoll.domain.files.host_mount import HostMount
from atoll.domain.hosts.host import LOCAL
from atoll.domain.hosts.relocation import Relocation
from atoll.domain.ids import OrgId, PrincipalId, RouteId, SandboxId, SnapshotId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.policy import NO_OPTIONS, RouteOptions
from atoll.domain.sandboxes.project import ProjectRequest, SandboxProject
from atoll.domain.sandboxes.task import Task, TaskRequest
from atoll.domain.wall.isolation import Isolation
from atoll.wire.words.events import ActorKind
from atoll.wire.words.networks import NetworkMode
from atoll.wire.words.sandboxes import Access, Conversation, Scope, State, WorkspaceMode
from atoll.wire.words.terminals import Strictness
from atoll.wire.words.walls import WORKSPACE

RUNNING = frozenset({State.READY, State.ACTIVE})
"""The states in which a runtime answers."""

LIVE = frozenset({State.REQUESTED, State.PROVISIONING, State.READY, State.ACTIVE, State.STOPPED})
"""The states that a time to live ends."""

KEPT = frozenset({State.EXPIRED, State.FAILED})
"""The ended states that keep workspace, log and reason until their retention is over."""

GONE = frozenset({State.DESTROYING, State.DESTROYED})
"""The states of a sandbox that is being removed, or was."""


@dataclass(frozen=True, slots=True)
class RepoRequest:
    """A requested repository: a remote URL, or `key` of one uploaded before (a local checkout).
    `branch` None makes a new one, `from_branch` None starts at the remote's head. `sparse` names
    the directories to lay out; none are all. `path` is its place in the workspace."""

    repo_url: str
    branch: str | None = None
    from_branch: str | None = None
    key: str | None = None
    sparse: tuple[str, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True)
class SandboxRepo:
    """A repository of a sandbox: `path` is where its tree lies inside. `sparse` are directories
    relative to that; the files beside and above them are laid out too (git's cone mode).
    `began_from` is the branch that a new one began from, once that is known. `submodules` are the
    paths of those that are not laid out, `lfs_files` counts pointers whose object is not here."""

    repo_url: str
    branch: str
    from_branch: str | None
    path: str
    key: str | None = None
    sparse: tuple[str, ...] = ()
    began_from: str | None = None
    submodules: tuple[str, ...] = ()
    lfs_files: int = 0


@dataclass(frozen=True, slots=True)
class PulledTip:
    """A commit that a person brought outside, with all it stands on. `repo` counts the sandbox's
    repositories from 0."""

    repo: int
    commit: str


@dataclass(frozen=True, slots=True)
class Inputs:
    """The references of the consumer: `repo_ref` is the sandbox's repository where `repos` names
    none, with the branch or tag that its own begins at, `compose_bundle_ref` the compose file of a
    backend that runs one, or its folder, as `repo:PATH`, and `compose_bundle` the text of such a
    file, where it was uploaded."""

    repo_ref: str | None = None
    compose_bundle_ref: str | None = None
    compose_bundle: str | None = None


@dataclass(frozen=True, slots=True)
class SetupMetadata:
    """The words for the agent, or their location, and names of secrets."""

    instructions_ref: str | None = None
    secret_refs: tuple[str, ...] = ()
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class Consumer:
    """The consumer for which the sandbox exists; at most one of the three ids is usual."""

    actor: ActorKind = ActorKind.PERSON
    harness: str | None = None
    session_id: str | None = None
    run_id: str | None = None
    job_id: str | None = None


@dataclass(frozen=True, slots=True)
class SeedRequest:
    """The snapshot that a sandbox begins as, by id or name, and what becomes of its agent's
    conversation. `branch` is the one that its repositories go on in; None takes a free one."""

    snapshot: str
    conversation: Conversation = Conversation.CONTINUE
    branch: str | None = None


@dataclass(frozen=True, slots=True)
class LifecycleWebhook:
    """The endpoint that the events of a sandbox's life are posted to, and the custom secret, by
    name or id, whose value signs them. The URL may hold a key."""

    url: str
    secret_ref: str


@dataclass(frozen=True, slots=True)
class CreateSandbox:
    """A request for a sandbox.

    None takes the profile's value, or a default name. `copies` are files that the caller adds
    itself, as `from:to`: recorded and shown. `usual_softlock` is that of its surface, which counts
    instead of the profile's; nobody asked for it, so a repeated create is not held against it.
    """

    profile: str = "shell"
    profile_version: str | None = None
    name: str | None = None
    agent: str | None = None
    agent_catalogue: tuple[str, ...] | None = None
    scope: Scope | None = None
    workspace_mode: WorkspaceMode | None = None
    access: Access | None = None
    repos: tuple[RepoRequest, ...] = ()
    mounts: tuple[HostMount, ...] = ()
    copies: tuple[str, ...] = ()
    cwd: str | None = None
    inputs: Inputs = Inputs()
    ttl_seconds: int | None = None
    network_mode: NetworkMode | None = None
    softlock: Strictness | None = None
    env: tuple[tuple[str, str], ...] = ()
    setup_metadata: SetupMetadata = SetupMetadata()
    consumer: Consumer = Consumer()
    task: TaskRequest | None = None
    project: ProjectRequest | None = None
    host: str | None = None
    route: RouteOptions = NO_OPTIONS
    usual_softlock: Strictness | None = None
    seed: SeedRequest | None = None
    lifecycle_webhook: LifecycleWebhook | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """The backend's data about a sandbox and the address of its runtime: what a restarted control
    plane needs. `handle` and `address` are the Extension port's values. `agents` are those whose
    programs were found inside, as `name@version` or `name`; None where nobody looked."""

    handle: tuple[tuple[str, str], ...] = ()
    address: str | None = None
    token: str | None = field(default=None, repr=False)
    isolation: Isolation | None = None
    agents: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A sandbox. `profile` is the effective recipe (the request applied to the named profile).

    - `ttl_seconds` is the requested time; `expires_at` never passes `max_expires_at`.
    - `warned_of`: the end of which a warning was given; `end_accepted`: the end that its person
      lets come.
    - `last_used_at`: as `last_active_at`, but a turn, a request at a door or a forwarded port count
      too.
    - `cwd`: where terminals and commands start, `/workspace` or below.
    - `renewing`: a recreate still has to save and drop the old workspace.
    - `kept_at`: where its files were written before it was destroyed.
    - `pulled`: commits of this life that a person brought outside.
    - `exposed_secrets`: names of secrets whose values were put inside in this life.
    - `instructions`: words for its first agent, once they are known; `instructed`: it has them.
    - `agents`: those that run, or ran when it stopped; `resuming`: a start still has to resume
      their conversations.
    - `task`: the words its agent begins with, and whether it has them.
    - `project`: what its person approved of its repository's file, and the state of its set-up.
    - `host`: the name of the machine it was placed on, empty until it is, and on a vendor's.
    - `region`: the vendor's region it was placed in, empty on a host.
    - `route`: the decision that placed it; None for one that is older than routes.
    - `relocation`: its files go to another host.
    - `leftovers`: what stands of one that is being destroyed, on a host where nothing may be sent:
      its destruction rests until that host is trusted again. `standing`: `reason` says that a
      machine of before may still stand.
    - `accepts_open_network`: its caller agreed to a wall that cannot close its network.
    - `ancestors`: the sandboxes from whose inside it was made, its parent last; none for one that
      a person made. `share`: its doors may spend that part of what others may, as 1 to `share`.
    - `archived_at`: since when its person has put it away; None while they have not.
    - `asleep_since`: since when it sleeps, also while it is started again; None otherwise.
    - `seed`: the snapshot that its workspace begins as; None for one that is laid out anew.
    - `lifecycle_webhook`: the one that its owner named when it was made.
    - `children_made`: the times at which sandboxes were made from inside it or below, lately.
    """

    id: SandboxId
    org_id: OrgId
    owner: PrincipalId
    name: str
    profile: Profile
    scope: Scope
    ttl_seconds: int
    created_at: datetime
    updated_at: datetime
    expires_at: datetime
    max_expires_at: datetime
    state: State = State.REQUESTED
    generation: int = 1
    reason: str | None = None
    agent: str | None = None
    repos: tuple[SandboxRepo, ...] = ()
    mounts: tuple[HostMount, ...] = ()
    copies: tuple[str, ...] = ()
    cwd: str = WORKSPACE
    inputs: Inputs = Inputs()
    env: tuple[tuple[str, str], ...] = ()
    setup_metadata: SetupMetadata = SetupMetadata()
    consumer: Consumer = Consumer()
    attachment: Attachment = Attachment()
    ready_at: datetime | None = None
    last_active_at: datetime | None = None
    last_used_at: datetime | None = None
    warned_of: datetime | None = None
    retained_until: datetime | None = None
    renewing: bool = False
    kept_at: str | None = None
    pulled: tuple[PulledTip, ...] = ()
    exposed_secrets: tuple[str, ...] = ()
    instructions: str = ""
    instructed: bool = False
    agents: tuple[RunningAgent, ...] = ()
    resuming: bool = False
    task: Task | None = None
    project: SandboxProject | None = None
    end_accepted: datetime | None = None
    host: str = LOCAL
    route: RouteId | None = None
    relocation: Relocation | None = None
    accepts_open_network: bool = False
    region: str = ""
    leftovers: tuple[str, ...] = ()
    standing: bool = False
    ancestors: tuple[SandboxId, ...] = ()
    share: int = 1
    children_made: tuple[datetime, ...] = ()
    archived_at: datetime | None = None
    asleep_since: datetime | None = None
    seed: SnapshotId | None = None
    lifecycle_webhook: LifecycleWebhook | None = None

    @property
    def asleep(self) -> bool:
        """Return whether it sleeps: it is stopped, and an access may wake it."""
        return self.state is State.STOPPED and self.asleep_since is not None

    @property
    def waking(self) -> bool:
        """Return whether it slept, and is being started."""
        return self.state is State.PROVISIONING and self.asleep_since is not None

    @property
    def parent(self) -> SandboxId | None:
        """Return the sandbox from whose inside it was made, None when a person made it."""
        return self.ancestors[-1] if self.ancestors else None


def may_see(caller: Principal, sandbox: Sandbox) -> bool:
    """Report whether the caller may see a sandbox: their own, or one shared in the organization.
    One whose owner is gone is for administrators, too; the store knows which that is. A token of a
    sandbox sees that one alone."""
    own = None if caller.token is None else caller.token.sandbox_id
    if sandbox.org_id != caller.org_id or own not in (None, sandbox.id):
        return False
    return sandbox.owner == caller.id or sandbox.scope is Scope.SHARED


def may_manage(caller: Principal, sandbox: Sandbox) -> bool:
    """Report whether the caller may manage a sandbox that they may see: its owner may, and the
    organization's administrators."""
    if sandbox.org_id != caller.org_id:
        return False
    return sandbox.owner == caller.id or caller.may(Capability.ORG_MANAGE)


def check_may_manage(caller: Principal, sandbox: Sandbox) -> None:
    """Check `may_manage`. Raises `Forbidden`."""
    if not may_manage(caller, sandbox):
        raise Forbidden(
            f"Sandbox {sandbox.name} is shared with you; only its owner or an administrator may do "
            "so."
        )


def check_not_gone(sandbox: Sandbox, act: str) -> None:
    """Raises `Conflict` for a sandbox that is being destroyed, or was."""
    if sandbox.state in GONE:
        raise Conflict(f"Sandbox {sandbox.name} is {sandbox.state} and cannot be {act}.")


def keeps_files(sandbox: Sandbox) -> bool:
    """Report whether it does not run and its workspace can be read or started again."""
    if sandbox.state is State.FAILED:
        return sandbox.ready_at is not None
    return sandbox.state in (State.STOPPED, State.EXPIRED)
