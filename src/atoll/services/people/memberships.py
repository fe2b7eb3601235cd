"""Memberships: what a caller may do follows from the role it has now, not from an older login.

The surface asks for each request, and at intervals while a connection lasts. What another replica
changed is seen after `FRESH_SECONDS`. The person of single-person mode needs no look-up.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atoll.domain.errors import Forbidden, NotFound, Unauthenticated
from atoll.domain.ids import NO_ORG, PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.capability import SOVEREIGN_ADMIN, Capability
from atoll.domain.people.front_end import GUEST_ROLE, NamedPrincipal, guest_of_scope
from atoll.domain.people.organization import PERSONAL, Member, Organization, member_principal
from atoll.domain.people.principal import Principal, is_local
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.shared_reads import Begin, SharedReads
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole

FRESH_SECONDS = 2.0
MAX_KNOWN = 4096

_Key = tuple[OrgId, PrincipalId]


@dataclass(frozen=True, slots=True)
class _Known:
    member: Member | None
    at: datetime


class Memberships:
    """The members as of now, cached for a moment. Raises `Unavailable` when the store does."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._known: dict[_Key, _Known] = {}
        self._reads = SharedReads(self._read)

    async def current(self, caller: Principal) -> Principal | None:
        """Return the caller with what its role allows now, at most what it came with; None when it
        is no member any more. The installation's person, guests and newcomers pass as they are."""
        if is_local(caller) or caller.guest_access is not None:
            return caller
        if GUEST_ROLE in caller.roles or caller.org_id == NO_ORG:
            return caller
        member = await self._member((caller.org_id, caller.id))
        if member is None:
            return None
        sovereign = SOVEREIGN_ADMIN in caller.roles
        now = member_principal(member, interactive=caller.interactive, sovereign=sovereign)
        given = now.capabilities & caller.capabilities
        # Its kind is that of its login or token: what runs inside a sandbox is an agent.
        return replace(now, kind=caller.kind, capabilities=given, token=caller.token)

    async def principal(self, org_id: OrgId, member_id: PrincipalId) -> Principal | None:
        """Return a member as a caller who is not present, None when there is none."""
        member = await self._member((org_id, member_id))
        return None if member is None else member_principal(member, interactive=False)

    async def named(self, named: NamedPrincipal) -> Principal:
        """Return the principal that a trusted front end names. It approves nothing. Raises
        `Unauthenticated` for somebody who is a member of no organization, or of several."""
        if named.guest_scope is not None:
            return guest_of_scope(named.guest_scope)
        async with self._ground.store.read() as rows:
            memberships = await rows.members.memberships(named.user or PrincipalId(""))
        people = [membership for membership in memberships if membership.kind is ActorKind.PERSON]
        if len(people) != 1:
            raise Unauthenticated("the front end names nobody who is a member of one organization")
        return member_principal(people[0])

    def forget(self, org_id: OrgId, member_id: PrincipalId) -> None:
        """Look again for this member: it was changed here."""
        self._known.pop((org_id, member_id), None)

    async def _member(self, key: _Key) -> Member | None:
        now, known = self._ground.clock.now(), self._known.get(key)
        if known is not None and now - known.at <= timedelta(seconds=FRESH_SECONDS):
            return known.member
        member = await self._reads.of(key)
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[key] = _Known(member, now)
        return member

    async def _read(self, key: _Key, begin: Begin) -> Member | None:
        async with self._ground.store.read() as rows:
            begin()
            return await rows.members.get(*key)


def no_organization() -> Forbidden:
    """Return the error for a person who has logged in and is a member of nothing."""
    return Forbidden(
        "you are logged in, and a member of no organization yet: open the invitation that its "
        "administrator gave you",
        code="no_organization",
    )


async def organization_for(
    rows: Transaction, caller: Principal, ref: str
) -> tuple[Organization, OrgRole]:
    """Return an organization by id or slug, and the caller's role in it. Raises `NotFound` for a
    missing one and for one of others, in the same words."""
    organization = await rows.organizations.get(ref)
    if organization is None and ref == PERSONAL_ORG:
        organization = PERSONAL
    role = None if organization is None else await _role(rows, caller, organization)
    if organization is None or role is None:
        raise NotFound(f"There is no organization {ref[:80]!r}: list them to see which there are.")
    return organization, role


async def _role(rows: Transaction, caller: Principal, within: Organization) -> OrgRole | None:
    if caller.may(Capability.SYSTEM_MANAGE):
        return OrgRole.OWNER
    if caller.org_id != within.id:
        return None
    member = await rows.members.get(within.id, caller.id)
    return None if member is None else member.role
