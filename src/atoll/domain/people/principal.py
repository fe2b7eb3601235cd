"""Principals of an organization: a person, an agent or automation."""

from dataclasses import dataclass
from datetime import datetime

from atoll.domain.ids import (
    PERSONAL_ORG,
    DashboardId,
    OrgId,
    PrincipalId,
    RecordingId,
    SandboxId,
    ShareId,
    TerminalId,
    WorkerKey,
)
from atoll.domain.people.capability import EVERY_CAPABILITY, Capability, role_claims
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from atoll.wire.words.terminals import Role


@dataclass(frozen=True, slots=True)
class GuestAccess:
    """The only right of a guest: a role at the terminals (or one terminal) of one sandbox that
    belongs to `owner` of `org_id`, until it ends. With `recording_id` it is that recording, and no
    terminal. With `dashboard_id` it is a look at that dashboard, and no sandbox; with `terminals`
    also at the terminals whose panes are on it. A `controller` of a dashboard changes what guests
    may change there, and types at those terminals once somebody gives control."""

    org_id: OrgId
    owner: PrincipalId
    share_id: ShareId
    sandbox_id: SandboxId | None
    terminal_id: TerminalId | None
    role: Role
    expires_at: datetime
    recording_id: RecordingId | None = None
    dashboard_id: DashboardId | None = None
    terminals: bool = False

    @property
    def edits(self) -> bool:
        """Return whether the guest may change what is on a dashboard."""
        return self.dashboard_id is not None and self.role is Role.CONTROLLER

    def plays(self, sandbox_ref: str, recording_id: str) -> bool:
        """Report whether the guest may see this recording of this sandbox, by their ids."""
        return (sandbox_ref, recording_id) == (self.sandbox_id, self.recording_id)

    def covers(self, sandbox_ref: str, terminal_id: str | None = None) -> bool:
        """Report whether the guest may see this sandbox, by its id, and this terminal of it."""
        if sandbox_ref != self.sandbox_id or self.recording_id is not None:
            return False
        return self.terminal_id is None or terminal_id is None or terminal_id == self.terminal_id


@dataclass(frozen=True, slots=True)
class CallOrigin:
    """The origin of a call: the address it was made from, the id of the request, and the token
    it was made with; empty where there is none."""

    address: str = ""
    request_id: str = ""
    token_id: str = ""


@dataclass(frozen=True, slots=True)
class WorkerAccess:
    """The only right of a worker's host: to deliver for one worker in one epoch."""

    key: WorkerKey
    worker_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class TokenAccess:
    """The bounds of a caller who came by a token, beside its capabilities: when it ends and what it
    was made from (`origin`, as in `domain.people.bearer`). With `sandbox_id` it reaches that
    sandbox alone. With `subscribed` it reads these streams and read models and does nothing
    else. With `worker` it delivers for that worker and does nothing else."""

    origin: str
    expires_at: datetime
    sandbox_id: SandboxId | None = None
    subscribed: bool = False
    streams: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    worker: WorkerAccess | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller after authentication.

    `interactive` is true only for a browser session or a login credential on a TTY; approvals
    require it. `name` is for people to read. A principal with `guest_access` is a guest, who may do
    what that access allows and nothing else. `capabilities`, `roles` and `groups` are the claims of
    its login or token: without them it may do nothing. `origin` says where this call came from;
    `token` bounds a caller who came by one.
    """

    org_id: OrgId
    id: PrincipalId
    kind: ActorKind
    interactive: bool = False
    name: str = ""
    guest_access: GuestAccess | None = None
    capabilities: frozenset[Capability] = frozenset()
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    origin: CallOrigin | None = None
    token: TokenAccess | None = None

    def may(self, capability: Capability) -> bool:
        """Report whether the caller has this capability."""
        return capability in self.capabilities


def spell_actor(actor: Principal) -> str:
    """Return an actor as a runtime notes it beside what was begun: `adm:ada`."""
    return f"{actor.kind}:{actor.id}"


def read_actor(org_id: OrgId, spelled: object) -> Principal | None:
    """Return the actor of this organization that was spelled so; None for anything else."""
    kind, _, name = spelled.partition(":") if isinstance(spelled, str) else ("", "", "")
    if kind not in list(ActorKind) or not name:
        return None
    return Principal(org_id, PrincipalId(name), ActorKind(kind))


LOCAL_PERSON = Principal(
    PERSONAL_ORG,
    PrincipalId("person"),
    ActorKind.PERSON,
    interactive=True,
    capabilities=EVERY_CAPABILITY,
    roles=role_claims(PERSONAL_ORG, OrgRole.OWNER, sovereign=True),
)
"""The one person of single-person mode."""


def is_local(caller: Principal) -> bool:
    """Report whether the caller is the person who runs this installation."""
    return (caller.org_id, caller.id) == (LOCAL_PERSON.org_id, LOCAL_PERSON.id)


SYSTEM = Principal(
    PERSONAL_ORG, PrincipalId("atoll"), ActorKind.AUTOMATION, capabilities=EVERY_CAPABILITY
)
"""The principal of Atoll itself, for timers, adoption and the watch for ended runtimes."""
