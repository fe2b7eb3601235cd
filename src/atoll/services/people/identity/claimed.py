"""Memberships that follow from the claims of a provider: given, changed and taken back.

What an invitation gave stays, unless a claim names a role in the same organization.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from atoll.domain.errors import AtollError
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.claims import ClaimedPerson, ClaimedRole, unique_name
from atoll.domain.people.organization import Member, Organization, check_owner_stays
from atoll.domain.people.person import Person
from atoll.domain.people.principal import SYSTEM
from atoll.domain.people.realm import Realm
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.people.departures import Departure, Departures
from atoll.services.people.memberships import Memberships
from atoll.services.people.org_events import member_event, org_stream
from atoll.services.people.rosters import add_member
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole

_log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Change:
    """A change of one person's memberships under way."""

    person: Person
    claimed: ClaimedPerson
    kept: set[OrgId]
    gone: list[Departure]


class ClaimedMemberships:
    """Makes people and their memberships what the claims say."""

    def __init__(self, ground: Ground, memberships: Memberships, departures: Departures) -> None:
        self._ground = ground
        self._memberships = memberships
        self._departures = departures

    async def apply(self, realm: Realm, claimed: ClaimedPerson) -> Person:
        """Return the person that the claims describe, a new one at the first login."""
        async with self._ground.store.begin() as rows:
            known = await rows.people.known(realm.issuer, claimed.subject)
            person = known
            if person is None:
                person = Person(
                    PrincipalId(self._ground.ids.new("usr")),
                    realm.issuer,
                    claimed.subject,
                    claimed.name,
                    claimed.email,
                )
            change = _Change(person, claimed, set(), [])
            for org, role in await _claimed_organizations(rows, claimed):
                # Who runs the installation is an owner of that one, whatever is claimed.
                if not (person.local and org.id == PERSONAL_ORG):
                    await self._give(rows, change, org, role)
            await self._follow(rows, realm, change)
            for org_id in set(person.claimed) - change.kept:
                await self._take(rows, change, org_id)
            after = replace(
                person,
                name=claimed.name,
                email=claimed.email,
                claimed=tuple(sorted(change.kept)),
                sovereign=claimed.sovereign,
            )
            if after != known:
                await rows.people.put(after)
        await self._settle(after, change)
        return after

    async def _give(
        self, rows: Transaction, change: _Change, within: Organization, role: ClaimedRole
    ) -> None:
        """Make the person a member, or give the member the role of the claim."""
        person = change.person
        member = await rows.members.get(within.id, person.id)
        if member is None:
            await self._add(rows, change, within, role)
            return
        if not role.lasting or (role.implied and within.id not in person.claimed):
            return  # an invitation said more
        change.kept.add(within.id)
        if role.role is not member.role:
            members = await rows.members.of(within.id)
            if _is_last_owner(members, member):
                _log.warning("last_owner_kept", org=within.id, member=member.id)
                return
            changed = replace(member, role=role.role)
            await rows.members.put(changed)
            event = member_event(
                self._ground, SYSTEM, "member.changed", changed, before=member.role.value
            )
            await rows.events.append((event,))

    async def _add(
        self, rows: Transaction, change: _Change, within: Organization, role: ClaimedRole
    ) -> None:
        claimed, person = change.claimed, change.person
        taken = [member.name for member in await rows.members.of(within.id)]
        member = Member(
            within.id,
            person.id,
            ActorKind.PERSON,
            unique_name(claimed.name, taken),
            claimed.email,
            role.role,
            claimed.groups,
            self._ground.clock.now(),
        )
        try:
            await add_member(rows, within, member)
        except AtollError as error:
            _log.warning("claimed_member_not_added", org=within.id, reason=error.message)
            return
        if role.lasting:
            change.kept.add(within.id)
        event = member_event(self._ground, SYSTEM, "member.added", member)
        await rows.events.append((event,))

    async def _follow(self, rows: Transaction, realm: Realm, change: _Change) -> None:
        """Give memberships in organizations of this realm the name, email and groups that the
        claims say. A provider that never named a group leaves those that were set here."""
        claimed = change.claimed
        for member in await rows.members.memberships(change.person.id):
            if realm.organization and member.org_id not in change.kept:
                continue
            others = await rows.members.of(member.org_id)
            name = unique_name(
                claimed.name, (other.name for other in others if other.id != member.id)
            )
            # Groups that were set here stay while the provider has never said any.
            says = member.groups_claimed or claimed.groups != ()
            changed = replace(
                member,
                name=name,
                email=claimed.email or member.email,
                groups=claimed.groups if says else member.groups,
                groups_claimed=says,
            )
            if changed != member:
                await rows.members.put(changed)

    async def _take(self, rows: Transaction, change: _Change, org_id: OrgId) -> None:
        """Remove the member whom no claim names any more."""
        member = await rows.members.get(org_id, change.person.id)
        if member is None:
            return
        if _is_last_owner(await rows.members.of(org_id), member):
            _log.warning("last_owner_kept", org=org_id, member=member.id)
            change.kept.add(org_id)
            return
        departure = await self._departures.forget(rows, member, actor=SYSTEM)
        await rows.members.remove(org_id, member.id)
        event = member_event(self._ground, SYSTEM, "member.removed", member, **departure.counts)
        await rows.events.append((event,))
        change.gone.append(departure)

    async def _settle(self, person: Person, change: _Change) -> None:
        for org_id in {*change.kept, *change.person.claimed}:
            self._memberships.forget(org_id, person.id)
            self._ground.bus.announce((org_stream(org_id),))
        for departure in change.gone:
            await self._departures.settle(departure)


async def _claimed_organizations(
    rows: Transaction, claimed: ClaimedPerson
) -> Sequence[tuple[Organization, ClaimedRole]]:
    """Return the organizations that the claims name and that there are, each once."""
    by_id: dict[OrgId, tuple[Organization, ClaimedRole]] = {}
    roles = dict(claimed.roles)
    if claimed.sovereign:
        roles.setdefault(PERSONAL_ORG, ClaimedRole(OrgRole.ADMIN))
    for ref, role in roles.items():
        org = await rows.organizations.get(ref)
        if org is not None:
            by_id.setdefault(org.id, (org, role))
    return list(by_id.values())


def _is_last_owner(members: Sequence[Member], going: Member) -> bool:
    try:
        check_owner_stays(members, going)
    except AtollError:
        return True
    return False
