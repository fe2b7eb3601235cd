"""Organizations: their names, members, invitations, and who may change whom. Pure.

Single-person mode has one organization, `personal`, with one person, and no row for either. A team
takes its place under the same id: what was made before belongs to it without being touched.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NewType

from atoll.domain.errors import Conflict, Forbidden, Invalid
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.capability import capabilities_of, role_claims
from atoll.domain.people.principal import Principal
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_GROUPS, OrgRole

InvitationId = NewType("InvitationId", str)

MAX_MEMBERS = 1000
MAX_INVITATIONS = 100
MAX_INVITATION_LIFE = timedelta(days=30)

ADMINISTRATORS = frozenset({OrgRole.OWNER, OrgRole.ADMIN})

_SLUG = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]")
_GROUP = re.compile(r"[A-Za-z0-9/][A-Za-z0-9/_.:@-]{0,127}")
_RESERVED = frozenset({"guests", "accept", "nobody"})


@dataclass(frozen=True, slots=True)
class Organization:
    """An organization. `slug` is its name in addresses and commands, `name` the one for people.
    `created_at` is None for the one of single-person mode."""

    id: OrgId
    slug: str
    name: str
    created_at: datetime | None


PERSONAL = Organization(PERSONAL_ORG, "personal", "Personal", None)
"""The organization of single-person mode, until a team takes its place."""


@dataclass(frozen=True, slots=True)
class Member:
    """A person or a service account in an organization. `groups` are for rules of other systems:
    nothing here grants anything by them. `email` is empty where nobody said one. With
    `groups_claimed` a login provider says the groups, again at each login."""

    org_id: OrgId
    id: PrincipalId
    kind: ActorKind
    name: str
    email: str
    role: OrgRole
    groups: tuple[str, ...]
    since: datetime
    groups_claimed: bool = False


@dataclass(frozen=True, slots=True)
class Invitation:
    """An invitation to an organization. `mark` is the fingerprint of its secret; `email` a note
    of whom it is for."""

    id: InvitationId
    org_id: OrgId
    role: OrgRole
    groups: tuple[str, ...]
    email: str
    mark: str
    invited_by: PrincipalId
    created_at: datetime
    expires_at: datetime


def member_principal(
    member: Member, *, interactive: bool = False, sovereign: bool = False
) -> Principal:
    """Return a member as a caller: what it may do comes from its role as it now is."""
    return Principal(
        member.org_id,
        member.id,
        member.kind,
        interactive=interactive,
        name=member.name,
        capabilities=capabilities_of(member.role, sovereign=sovereign),
        roles=role_claims(member.org_id, member.role, sovereign=sovereign),
        groups=member.groups,
    )


def read_slug(text: str) -> str:
    """Return `text` when it can name an organization. Raises `Invalid`."""
    if not _SLUG.fullmatch(text) or text in _RESERVED or text.startswith("org-"):
        raise Invalid(
            "an organization's slug is 2 to 40 lower-case letters, digits and `-`; it begins with "
            "a letter, not with `org-`, and does not end with `-`",
            field="slug",
        )
    return text


def is_group(text: str) -> bool:
    """Report whether this can name a group."""
    return _GROUP.fullmatch(text) is not None


def read_groups(groups: Iterable[str]) -> tuple[str, ...]:
    """Return groups, sorted, each once. Raises `Invalid`."""
    found = tuple(sorted(set(groups)))
    if len(found) > MAX_GROUPS or not all(map(is_group, found)):
        raise Invalid(
            f"a member has at most {MAX_GROUPS} groups of up to 128 letters, digits and `/_.:@-`",
            field="groups",
        )
    return found


def check_groups_ours(member: Member) -> None:
    """Check that a member's groups are set here. Raises `Conflict` where a login provider says
    them: it would undo the change."""
    if member.groups_claimed:
        raise Conflict(
            f"the groups of {member.name} come from the login provider: change them there",
            code="groups_claimed",
            field="groups",
        )


def check_may_set(own: OrgRole, role: OrgRole, before: OrgRole | None = None) -> None:
    """Check that a member with role `own` may give `role` to somebody, who has `before` now.
    Raises `Forbidden`: only owners make owners or change them."""
    if own not in ADMINISTRATORS:
        raise Forbidden("only an owner or an admin of the organization may change its members")
    if own is not OrgRole.OWNER and OrgRole.OWNER in (role, before):
        raise Forbidden("only an owner may make an owner, or change or remove one")


def check_kind(kind: ActorKind, role: OrgRole) -> None:
    """Check the role of a service account. Raises `Invalid` for owner: an owner is a person."""
    if kind is ActorKind.AUTOMATION and role is OrgRole.OWNER:
        raise Invalid("a service account cannot be an owner", field="role")


def check_owner_stays(members: Iterable[Member], going: Member) -> None:
    """Check that the organization keeps an owner without `going`. Raises `Conflict`."""
    others = (one for one in members if one.id != going.id)
    if going.role is OrgRole.OWNER and not any(one.role is OrgRole.OWNER for one in others):
        raise Conflict(
            f"{going.name} is the last owner: make another member an owner first",
            code="last_owner",
        )


def invitation_end(now: datetime, seconds: int) -> datetime:
    """Return when an invitation made now ends. Raises `Invalid` beyond 30 days."""
    if not 1 <= seconds <= MAX_INVITATION_LIFE.total_seconds():
        raise Invalid("an invitation lives between a second and 30 days", field="ttl")
    return now + timedelta(seconds=seconds)
