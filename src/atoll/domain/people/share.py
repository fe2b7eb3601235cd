"""Share links: access to one sandbox, or one terminal or recording of it, or to one dashboard, for
people without a login.

Pure. Only the fingerprint of a link's secret is kept. A person who opens the link becomes a guest:
a principal with an id and a name of its own, which can be given control, and whose input stands
under that name. A guest ends with its link.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.errors import Invalid
from atoll.domain.ids import (
    GUESTS_ORG,
    DashboardId,
    GuestId,
    OrgId,
    PrincipalId,
    RecordingId,
    SandboxId,
    ShareId,
    TerminalId,
)
from atoll.domain.people.capability import GUEST_CAPABILITIES, VISITOR_CAPABILITIES
from atoll.domain.people.name import printable_name
from atoll.domain.people.principal import GuestAccess, Principal
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import DEFAULT_SHARE_SECONDS
from atoll.wire.words.terminals import Role

MAX_GUESTS = 64
"""The number of guests of one link at a time."""

MAX_LIFE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Share:
    """A share link. Without `terminal_id` it opens every terminal of the sandbox; with
    `recording_id` that recording and no terminal. With `dashboard_id` it opens a dashboard instead
    of a sandbox, and with `terminals` the terminals that the dashboard shows; a `controller` edits
    it. `mark` is the
    fingerprint of its secret; `name` is the label its maker chose."""

    id: ShareId
    org_id: OrgId
    owner: PrincipalId
    sandbox_id: SandboxId | None
    terminal_id: TerminalId | None
    role: Role
    name: str
    mark: str
    created_at: datetime
    expires_at: datetime
    recording_id: RecordingId | None = None
    dashboard_id: DashboardId | None = None
    terminals: bool = False

    @property
    def edits(self) -> bool:
        """Return whether its guests may change what is on its dashboard."""
        return self.dashboard_id is not None and self.role is Role.CONTROLLER

    @property
    def opens(self) -> SandboxId | DashboardId:
        """Return the id of the sandbox or dashboard that it opens."""
        return self.dashboard_id or self.sandbox_id or SandboxId("")


@dataclass(frozen=True, slots=True)
class ShareRequest:
    """A request for a link. Raises `Invalid` for the role of an owner, a name that cannot be shown,
    a life beyond 30 days, or a recording to do more with than watch it."""

    terminal_id: TerminalId | None = None
    role: Role = Role.VIEWER
    seconds: int = DEFAULT_SHARE_SECONDS
    name: str = ""
    recording_id: RecordingId | None = None

    def __post_init__(self) -> None:
        if self.role is Role.OWNER:
            raise Invalid("a link makes viewers or controllers, not owners", field="role")
        if not 1 <= self.seconds <= MAX_LIFE.total_seconds():
            raise Invalid("a link lives between a second and 30 days", field="ttl")
        if self.recording_id is not None:
            if self.terminal_id is not None:
                raise Invalid("a link opens a terminal or a recording", field="recording_id")
            if self.role is not Role.VIEWER:
                raise Invalid("a recording can be watched only: use viewer", field="role")
        if self.name:
            printable_name(self.name)


@dataclass(frozen=True, slots=True)
class Guest:
    """A person who opened a link. `mark` is the fingerprint of its session."""

    id: GuestId
    share_id: ShareId
    org_id: OrgId
    owner: PrincipalId
    name: str
    mark: str
    created_at: datetime


def expiry(now: datetime, seconds: int) -> datetime:
    """Return when a link made now ends."""
    return now + timedelta(seconds=seconds)


def guest_name(guest_id: GuestId) -> str:
    """Return the name of a guest who gave none."""
    return f"guest {guest_id.rpartition('_')[2][:4]}"


def principal_of(guest: Guest, share: Share) -> Principal:
    """Return the guest as a caller.

    It belongs to an organization that owns nothing, so every ownership check finds that nothing is
    the guest's.
    """
    access = GuestAccess(
        org_id=share.org_id,
        owner=share.owner,
        share_id=share.id,
        sandbox_id=share.sandbox_id,
        terminal_id=share.terminal_id,
        role=share.role,
        expires_at=share.expires_at,
        recording_id=share.recording_id,
        dashboard_id=share.dashboard_id,
        terminals=share.terminals,
    )
    whole = share.dashboard_id is None
    return Principal(
        GUESTS_ORG,
        PrincipalId(guest.id),
        ActorKind.PERSON,
        name=guest.name,
        guest_access=access,
        capabilities=GUEST_CAPABILITIES if whole else VISITOR_CAPABILITIES,
    )
