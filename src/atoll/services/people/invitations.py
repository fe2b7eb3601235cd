"""Invitations: a link with a secret, by which somebody who has logged in joins an organization.

Who somebody is, the login says; an invitation says only what they become.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from atoll.domain.errors import Conflict, LimitReached, NotFound
from atoll.domain.ids import PERSONAL_ORG
from atoll.domain.people.claims import unique_name
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.organization import (
    MAX_INVITATIONS,
    Invitation,
    InvitationId,
    Member,
    check_may_set,
    invitation_end,
    read_groups,
)
from atoll.domain.people.principal import Principal, is_local
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships, organization_for
from atoll.services.people.org_events import invitation_event, member_event, org_stream
from atoll.services.people.organizations import Membership
from atoll.services.people.rosters import add_member, check_team
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import DEFAULT_INVITATION_SECONDS, OrgRole


@dataclass(frozen=True, slots=True)
class InvitationRequest:
    """A request to invite somebody. `email` is a note of whom, shown in lists."""

    role: OrgRole = OrgRole.MEMBER
    groups: tuple[str, ...] = ()
    email: str = ""
    seconds: int = DEFAULT_INVITATION_SECONDS


@dataclass(frozen=True, slots=True)
class Offer:
    """An invitation as the one who holds its secret sees it. `invited_by` is a name, empty for a
    member who left."""

    organization: str
    role: OrgRole
    invited_by: str
    expires_at: datetime


class Invitations:
    """Use cases on invitations. Only administrators make, see and revoke them."""

    def __init__(self, ground: Ground, memberships: Memberships) -> None:
        self._ground = ground
        self._memberships = memberships

    async def create(
        self, caller: Principal, ref: str, request: InvitationRequest
    ) -> tuple[Invitation, str]:
        """Return a new invitation and its secret, which is never seen again. Raises `Invalid`,
        `Forbidden`, and `LimitReached` beyond 100 of an organization."""
        now, secret = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, request.role)
            check_team(organization)
            await rows.invitations.forget(now)
            if len(await rows.invitations.of(organization.id)) >= MAX_INVITATIONS:
                raise LimitReached(
                    f"{organization.name} has {MAX_INVITATIONS} invitations already: "
                    "revoke one first."
                )
            made = Invitation(
                id=InvitationId(self._ground.ids.new("inv")),
                org_id=organization.id,
                role=request.role,
                groups=read_groups(request.groups),
                email=request.email,
                mark=fingerprint(secret),
                invited_by=caller.id,
                created_at=now,
                expires_at=invitation_end(now, request.seconds),
            )
            await rows.invitations.add(made)
            event = invitation_event(self._ground, caller, "member.invited", made)
            await rows.events.append((event,))
        self._ground.bus.announce((org_stream(made.org_id),))
        return made, secret

    async def list(self, caller: Principal, ref: str) -> Sequence[Invitation]:
        """Return the invitations that can still be accepted."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, OrgRole.MEMBER)
            return [
                invitation
                for invitation in await rows.invitations.of(organization.id)
                if invitation.expires_at > now
            ]

    async def revoke(self, caller: Principal, ref: str, invitation_id: str) -> None:
        """Take an invitation back. Raises `NotFound`."""
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            there = [
                invitation
                for invitation in await rows.invitations.of(organization.id)
                if invitation.id == invitation_id
            ]
            if not there:
                raise NotFound(
                    f"There is no invitation {invitation_id[:80]!r}: list them to see which there "
                    "are."
                )
            check_may_set(own, there[0].role)
            await rows.invitations.remove(there[0].id)
            event = invitation_event(self._ground, caller, "member.uninvited", there[0])
            await rows.events.append((event,))
        self._ground.bus.announce((org_stream(organization.id),))

    async def look(self, caller: Principal, secret: str) -> Offer:
        """Return what an invitation offers, to a person who may accept it. Raises `NotFound` like
        `accept`."""
        now = self._ground.clock.now()
        async with self._ground.store.read() as rows:
            invitation = await rows.invitations.marked(fingerprint(secret))
            organization = None
            if invitation is not None and invitation.expires_at > now:
                organization = await rows.organizations.get(invitation.org_id)
            if invitation is None or organization is None or caller.guest_access is not None:
                raise _invitation_over_error()
            inviter = await rows.members.get(organization.id, invitation.invited_by)
        name = "" if inviter is None else inviter.name
        return Offer(organization.name, invitation.role, name, invitation.expires_at)

    async def accept(self, caller: Principal, secret: str) -> Membership:
        """Make the caller, a person who has logged in, a member by an invitation, which is used up
        by that. Raises `NotFound` for one that is unknown, used, revoked or over, `Conflict` for
        who is a member already."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            invitation = await rows.invitations.marked(fingerprint(secret))
            organization = None
            if invitation is not None and invitation.expires_at > now:
                organization = await rows.organizations.get(invitation.org_id)
            if invitation is None or organization is None or caller.guest_access is not None:
                raise _invitation_over_error()
            if caller.kind is not ActorKind.PERSON or is_local(caller):
                raise Conflict(
                    "An invitation is for somebody else: a person who logged in at a login "
                    "provider (docs/run/sign-in.md).",
                    code="not_invited",
                )
            person = await rows.people.get(caller.id)
            if person is not None and person.local and organization.id == PERSONAL_ORG:
                raise Conflict("You are its owner already.", code="member_already")
            members = await rows.members.of(organization.id)
            member = Member(
                organization.id,
                caller.id,
                caller.kind,
                unique_name(caller.name or caller.id, [member.name for member in members]),
                invitation.email,
                invitation.role,
                invitation.groups,
                now,
            )
            await add_member(rows, organization, member)
            await rows.invitations.remove(invitation.id)
            event = member_event(
                self._ground, caller, "member.added", member, invitation=invitation.id
            )
            await rows.events.append((event,))
        self._memberships.forget(member.org_id, member.id)
        self._ground.bus.announce((org_stream(member.org_id),))
        return Membership(organization, member.role)


def _invitation_over_error() -> NotFound:
    return NotFound("This invitation is over or was used; ask for a new one.")
