"""The claims contract: capabilities, roles, and what follows from a role.

The one definition for every surface. An operation declares one capability, and
a call is judged by a look into the caller's set: no role is followed at the time of a call.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from atoll.domain.errors import Forbidden
from atoll.domain.ids import OrgId
from atoll.wire.words.people import OrgRole

SOVEREIGN_ADMIN = "sovereign-admin"
"""The role of whoever runs the installation: every organization's administrator."""


class Capability(StrEnum):
    """A permission string. `read` shows, `use` works with what is there, `manage` changes it."""

    ME = "me.manage"
    """The caller's own name, login and browsers."""
    SANDBOX_READ = "sandbox.read"
    SANDBOX_CREATE = "sandbox.create"
    SANDBOX_MANAGE = "sandbox.manage"
    """Stop, start, recreate, extend, destroy; its processes, network and ends."""
    SANDBOX_CHILDREN = "sandbox.children"
    """Make sandboxes from inside one, and use those. Its owner has it; the token of a sandbox has
    it where the profile says so."""
    TERMINAL_WATCH = "terminal.watch"
    TERMINAL_USE = "terminal.use"
    """Open, drive, resize, signal and close terminals."""
    EXEC_USE = "exec.use"
    FILE_READ = "file.read"
    FILE_WRITE = "file.write"
    AGENT_READ = "agent.read"
    AGENT_USE = "agent.use"
    """Start, ask, answer, steer and stop agents."""
    AGENT_INSTALL = "agent.install"
    RECORDING_READ = "recording.read"
    RECORDING_MANAGE = "recording.manage"
    REPOSITORY_READ = "repository.read"
    REPOSITORY_WRITE = "repository.write"
    PROFILE_READ = "profile.read"
    PROFILE_MANAGE = "profile.manage"
    SECRET_READ = "secret.read"  # noqa: S105 - a permission, no secret
    SECRET_MANAGE = "secret.manage"  # noqa: S105 - a permission, no secret
    APPROVAL_READ = "approval.read"
    APPROVAL_DECIDE = "approval.decide"
    SHARE_MANAGE = "share.manage"
    DASHBOARD_READ = "dashboard.read"
    DASHBOARD_USE = "dashboard.use"
    """Change what is on a dashboard."""
    DASHBOARD_MANAGE = "dashboard.manage"
    """Make, rename, share and delete dashboards."""
    EVENT_READ = "event.read"
    WEBHOOK_MANAGE = "webhook.manage"
    TOKEN_MANAGE = "token.manage"  # noqa: S105 - a permission, no secret
    """The caller's own tokens."""
    ORG_READ = "org.read"
    ORG_MANAGE = "org.manage"
    """Members, roles, groups, invitations, service accounts, quotas and secrets of the
    organization."""
    AUDIT_READ = "audit.read"
    SYSTEM_MANAGE = "system.manage"
    """The installation: its master keys, organizations, hosts and login links."""


EVERY_CAPABILITY = frozenset(Capability)


_VIEWER = frozenset(
    {
        *(Capability.ME, Capability.SANDBOX_READ, Capability.TERMINAL_WATCH),
        *(Capability.FILE_READ, Capability.AGENT_READ, Capability.RECORDING_READ),
        *(Capability.REPOSITORY_READ, Capability.PROFILE_READ, Capability.EVENT_READ),
        *(Capability.ORG_READ, Capability.TOKEN_MANAGE, Capability.APPROVAL_READ),
        Capability.DASHBOARD_READ,
    }
)
_ADMIN = EVERY_CAPABILITY - {Capability.SYSTEM_MANAGE}
_MEMBER = _ADMIN - {Capability.ORG_MANAGE, Capability.AUDIT_READ, Capability.AGENT_INSTALL}

ROLE_CAPABILITIES: Mapping[OrgRole, frozenset[Capability]] = {
    OrgRole.OWNER: _ADMIN,
    OrgRole.ADMIN: _ADMIN,
    OrgRole.MEMBER: _MEMBER,
    OrgRole.VIEWER: _VIEWER,
}
"""The capabilities of each role. Only an owner makes and removes owners, which is no capability."""

GUEST_CAPABILITIES = frozenset(
    {
        *(Capability.ME, Capability.TERMINAL_WATCH, Capability.TERMINAL_USE),
        *(Capability.AGENT_READ, Capability.RECORDING_READ),
    }
)
"""The most that a guest may do; the guest's link narrows it to a sandbox and a role."""

VISITOR_CAPABILITIES = frozenset(
    {
        *(Capability.ME, Capability.DASHBOARD_READ, Capability.TERMINAL_WATCH),
        Capability.AGENT_READ,
    }
)
"""The most that a guest of a dashboard may do: look."""


def role_claims(org_id: OrgId, role: OrgRole, *, sovereign: bool = False) -> tuple[str, ...]:
    """Return the `roles[]` of a member."""
    found = [role.value]
    if role in (OrgRole.OWNER, OrgRole.ADMIN):
        found.append(admin_role(org_id))
    if sovereign:
        found.append(SOVEREIGN_ADMIN)
    return tuple(found)


def admin_role(org_id: OrgId) -> str:
    """Return the role of an organization's administrators, as tools that only they may use name
    it."""
    return f"org:{org_id}:admin"


def capabilities_of(role: OrgRole, *, sovereign: bool = False) -> frozenset[Capability]:
    """Return the capabilities of a member of this role."""
    return EVERY_CAPABILITY if sovereign else ROLE_CAPABILITIES[role]


def delegate(own: frozenset[Capability], requested: Iterable[str] | None) -> frozenset[Capability]:
    """Return the capabilities of a token that a caller with `own` makes: all of them, or those
    requested. Raises `Forbidden` for one that the caller has not, known or not."""
    if requested is None:
        return own
    known = {one.value: one for one in own}
    wanted = sorted(set(requested))
    for one in wanted:
        if one not in known:
            raise Forbidden(f"you cannot give {one[:60]!r}: you do not have it yourself")
    return frozenset(known[one] for one in wanted)
