"""Organizations and their members.

The first organization that is made takes the place of `personal`, under its id. So sandboxes,
secrets (whose sealed values are bound to it), repositories and events belong to the team without
being touched, also while they are in use.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atoll.domain.errors import Conflict
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.name import printable_name
from atoll.domain.people.organization import (
    PERSONAL,
    Member,
    Organization,
    check_groups_ours,
    check_kind,
    check_may_set,
    check_owner_stays,
    read_groups,
    read_slug,
)
from atoll.domain.people.principal import LOCAL_PERSON, Principal, is_local
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Events
from atoll.services.people.departures import Departure, Departures
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships, organization_for
from atoll.services.people.org_events import member_event, org_event, org_stream
from atoll.services.people.rosters import add_member, check_team, one_member
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole


@dataclass(frozen=True, slots=True)
class Membership:
    """An organization and the caller's role in it."""

    organization: Organization
    role: OrgRole


@dataclass(frozen=True, slots=True)
class MemberChange:
    """A change of a member; None leaves what is there."""

    role: OrgRole | None = None
    groups: tuple[str, ...] | None = None


class Organizations:
    """Use cases on organizations and members. A `ref` is an id or a slug; an organization of others
    is `NotFound`."""

    def __init__(
        self,
        ground: Ground,
        memberships: Memberships,
        departures: Departures,
        *,
        events: Events,
        logins: Logins,
    ) -> None:
        self._ground = ground
        self._events = events
        self._memberships = memberships
        self._departures = departures
        self._logins = logins

    async def list(self, caller: Principal) -> list[Membership]:
        """Return the caller's organization; every one that they are a member of to a person in
        their browser, and all of them to who runs the installation."""
        async with self._ground.store.read() as rows:
            if caller.may(Capability.SYSTEM_MANAGE):
                organizations = await rows.organizations.all()
                if not any(organization.id == PERSONAL_ORG for organization in organizations):
                    organizations = [PERSONAL, *organizations]
                return [Membership(organization, OrgRole.OWNER) for organization in organizations]
            if caller.token is not None:
                return [Membership(*await organization_for(rows, caller, caller.org_id))]
            return await _memberships(rows, caller)

    async def get(self, caller: Principal, ref: str) -> Membership:
        """Return an organization."""
        async with self._ground.store.read() as rows:
            return Membership(*await organization_for(rows, caller, ref))

    async def create(self, caller: Principal, slug: str, name: str) -> Membership:
        """Make an organization with the caller as its owner; the first one takes the place of
        `personal`. Raises `Invalid`, and `Conflict` for a slug that is taken."""
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            first = await rows.organizations.get(PERSONAL_ORG) is None
            org_id = PERSONAL_ORG if first else OrgId(self._ground.ids.new("org"))
            made = Organization(org_id, read_slug(slug), printable_name(name), now)
            await rows.organizations.put(made)
            owner = self._member_of(made, LOCAL_PERSON if first else caller)
            await rows.members.put(owner)
            created = org_event(self._ground, caller, "org.created", made)
            added = member_event(self._ground, caller, "member.added", owner)
            await rows.events.append((created, added))
        self._events.note_team(made.id)
        self._announce_change(owner)
        return Membership(made, OrgRole.OWNER)

    async def change(
        self, caller: Principal, ref: str, *, slug: str | None, name: str | None
    ) -> Membership:
        """Rename an organization. Raises `Invalid`, `Conflict` for a slug that is taken, and for
        the organization of single-person mode."""
        async with self._ground.store.begin() as rows:
            organization, role = await organization_for(rows, caller, ref)
            check_may_set(role, OrgRole.MEMBER)
            check_team(organization)
            changed = replace(
                organization,
                slug=organization.slug if slug is None else read_slug(slug),
                name=organization.name if name is None else printable_name(name),
            )
            if changed != organization:
                await rows.organizations.put(changed)
                event = org_event(self._ground, caller, "org.changed", changed)
                await rows.events.append((event,))
        self._ground.bus.announce((org_stream(organization.id),))
        return Membership(changed, role)

    async def members(self, caller: Principal, ref: str) -> Sequence[Member]:
        """Return the members, service accounts among them; those who joined first come first."""
        async with self._ground.store.read() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            members = await rows.members.of(organization.id)
        if organization is PERSONAL:
            members = [self._member_of(organization, LOCAL_PERSON)]
        return [self._with_present_name(member) for member in members]

    async def change_member(
        self, caller: Principal, ref: str, member: str, change: MemberChange
    ) -> Member:
        """Give a member another role or other groups. Raises `Forbidden` by the rules of
        `domain.people.organization`, `Conflict` for the last owner, for the person who runs the
        installation, whose role stays, and for groups that a login provider says."""
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            members = await rows.members.of(organization.id)
            before = one_member([self._with_present_name(row) for row in members], member)
            after = replace(
                before,
                role=before.role if change.role is None else change.role,
                groups=before.groups if change.groups is None else read_groups(change.groups),
            )
            check_may_set(own, after.role, before.role)
            check_kind(after.kind, after.role)
            if after.groups != before.groups:
                check_groups_ours(before)
            if after.role is not before.role:
                _check_not_local(before)
                check_owner_stays(members, before)
            if after != before:
                await rows.members.put(after)
                event = member_event(
                    self._ground, caller, "member.changed", after, before=before.role.value
                )
                await rows.events.append((event,))
        self._announce_change(after)
        return after

    async def remove_member(self, caller: Principal, ref: str, member: str) -> Member:
        """Remove a member or a service account, with all that lives in its name. Its sandboxes are
        stopped and wait for another owner. Raises like `change_member`."""
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            members = [
                self._with_present_name(row) for row in await rows.members.of(organization.id)
            ]
            going = one_member(members, member)
            check_may_set(own, OrgRole.MEMBER, going.role)
            departure = await self._remove(rows, caller, members, going)
        await self._finish_departure(departure)
        return going

    async def remove_service_account(self, caller: Principal, ref: str, account: str) -> Member:
        """Remove a service account, as `remove_member` does. Raises `NotFound` for a person."""
        members = await self.members(caller, ref)
        accounts = [member for member in members if member.kind is ActorKind.AUTOMATION]
        return await self.remove_member(caller, ref, one_member(accounts, account).id)

    async def leave(self, caller: Principal, ref: str) -> Member:
        """Leave an organization. Raises `Conflict` for the last owner."""
        async with self._ground.store.begin() as rows:
            organization, _ = await organization_for(rows, caller, ref)
            members = [
                self._with_present_name(row) for row in await rows.members.of(organization.id)
            ]
            going = one_member(members, caller.id)
            departure = await self._remove(rows, caller, members, going)
        await self._finish_departure(departure)
        return going

    async def add_service_account(
        self, caller: Principal, ref: str, name: str, *, role: OrgRole, groups: Sequence[str]
    ) -> Member:
        """Make a service account: a member that acts as automation. Raises `Invalid`,
        `LimitReached` beyond 1000 members, `Conflict` for the organization of single-person mode
        and for a name that another member has."""
        async with self._ground.store.begin() as rows:
            organization, own = await organization_for(rows, caller, ref)
            check_may_set(own, role)
            check_kind(ActorKind.AUTOMATION, role)
            account = Member(
                organization.id,
                PrincipalId(self._ground.ids.new("svc")),
                ActorKind.AUTOMATION,
                printable_name(name),
                "",
                role,
                read_groups(groups),
                self._ground.clock.now(),
            )
            await add_member(rows, organization, account)
            added = member_event(self._ground, caller, "member.added", account)
            await rows.events.append((added,))
        self._announce_change(account)
        return account

    async def rename(self, caller: Principal, name: str) -> Principal:
        """Give the caller the name that others see. Raises `Invalid`, `Forbidden` for a guest."""
        if caller.guest_access is not None or is_local(caller):
            return await self._logins.rename(caller, name)
        shown = printable_name(name)
        async with self._ground.store.begin() as rows:
            member = await rows.members.get(caller.org_id, caller.id)
            if member is not None:
                await rows.members.put(replace(member, name=shown))
        self._memberships.forget(caller.org_id, caller.id)
        return replace(caller, name=shown)

    async def _remove(
        self, rows: Transaction, caller: Principal, members: Sequence[Member], going: Member
    ) -> Departure:
        _check_not_local(going)
        check_owner_stays(members, going)
        departure = await self._departures.forget(rows, going, actor=caller)
        await rows.members.remove(going.org_id, going.id)
        event = member_event(self._ground, caller, "member.removed", going, **departure.counts)
        await rows.events.append((event,))
        return departure

    async def _finish_departure(self, departure: Departure) -> None:
        """Announce that a member left, and settle the departure."""
        self._announce_change(departure.member)
        await self._departures.settle(departure)

    def _announce_change(self, member: Member) -> None:
        """Forget the cached membership of a member, and announce the change."""
        self._memberships.forget(member.org_id, member.id)
        self._ground.bus.announce((org_stream(member.org_id),))

    def _member_of(self, within: Organization, person: Principal) -> Member:
        now = self._ground.clock.now()
        name = self._logins.person().name if is_local(person) else person.name
        return Member(
            within.id,
            person.id,
            person.kind,
            name or person.id,
            "",
            OrgRole.OWNER,
            (),
            within.created_at or now,
        )

    def _with_present_name(self, member: Member) -> Member:
        """Return a member by its present name: the installation's person has it in the login
        book."""
        if (member.org_id, member.id) != (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
            return member
        return replace(member, name=self._logins.person().name or member.name)


async def _memberships(rows: Transaction, caller: Principal) -> list[Membership]:
    memberships = []
    for member in await rows.members.memberships(caller.id):
        within = await rows.organizations.get(member.org_id)
        if within is not None:
            memberships.append(Membership(within, member.role))
    return memberships


def _check_not_local(member: Member) -> None:
    if (member.org_id, member.id) == (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
        raise Conflict(
            f"{member.name} runs this installation and stays an owner", code="installation_person"
        )
