"""Checks of the rows of organizations, members, invitations and bounds of networks."""

from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.errors import Conflict
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.network.bounds import UNBOUNDED, NetworkBounds
from atoll.domain.people.organization import Invitation, InvitationId, Member, Organization
from atoll.ports import Store
from atoll.testing.samples import NOW
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole

ACME = Organization(OrgId("org_acme"), "acme", "Acme", NOW)
OTHER = Organization(OrgId("org_other"), "other", "Other", NOW)


def member(name: str, *, org: Organization = ACME, number: int = 0) -> Member:
    """Return a member who joined `number` microseconds after the first."""
    return Member(
        org_id=org.id,
        id=PrincipalId(name),
        kind=ActorKind.PERSON,
        name=f"{name} for people",
        email=f"{name}@example.org",
        role=OrgRole.MEMBER,
        groups=("staff",),
        since=NOW + timedelta(microseconds=number),
    )


def invitation(name: str, *, org: Organization = ACME, number: int = 0) -> Invitation:
    """Return an invitation of a minute, and `number` microseconds."""
    at = NOW + timedelta(microseconds=number)
    return Invitation(
        id=InvitationId(name),
        org_id=org.id,
        role=OrgRole.VIEWER,
        groups=(),
        email="bob@example.org",
        mark=f"mark of {name}",
        invited_by=PrincipalId("ann"),
        created_at=at,
        expires_at=at + timedelta(seconds=60),
    )


async def check_organization_is_found_by_id_and_slug_and_keeps_its_slug_alone(
    store: Store,
) -> None:
    """A slug belongs to one organization; an id takes precedence over a slug."""
    async with store.begin() as rows:
        await rows.organizations.put(OTHER)
        await rows.organizations.put(ACME)
        await rows.organizations.put(replace(OTHER, name="Others"))
    async with store.read() as rows:
        assert await rows.organizations.get("acme") == ACME
        assert await rows.organizations.get("org_acme") == ACME
        assert await rows.organizations.get("nobody") is None
        assert await rows.organizations.all() == [ACME, replace(OTHER, name="Others")]
    with pytest.raises(Conflict) as caught:
        async with store.begin() as rows:
            await rows.organizations.put(replace(OTHER, slug="acme"))
    assert caught.value.code == "name_taken"
    async with store.begin() as rows:
        await rows.organizations.put(replace(OTHER, slug="org_acme"))
        found = await rows.organizations.get("org_acme")
        assert found == ACME


async def check_member_is_of_one_organization_each_time(store: Store) -> None:
    """Somebody may be a member of several organizations; each is a row."""
    ann, elsewhere = member("ann", number=1), member("ann", org=OTHER)
    async with store.begin() as rows:
        await rows.members.put(ann)
        await rows.members.put(member("bob"))
        await rows.members.put(elsewhere)
        await rows.members.put(replace(ann, role=OrgRole.ADMIN))
    async with store.read() as rows:
        assert await rows.members.get(ACME.id, ann.id) == replace(ann, role=OrgRole.ADMIN)
        assert await rows.members.get(OTHER.id, PrincipalId("bob")) is None
        assert [one.id for one in await rows.members.of(ACME.id)] == ["bob", "ann"]
        assert await rows.members.memberships(ann.id) == [
            replace(ann, role=OrgRole.ADMIN),
            elsewhere,
        ]
    async with store.begin() as rows:
        await rows.members.remove(ACME.id, ann.id)
        await rows.members.remove(ACME.id, ann.id)
    async with store.read() as rows:
        assert await rows.members.get(ACME.id, ann.id) is None
        assert await rows.members.memberships(ann.id) == [elsewhere]


async def check_invitation_is_found_by_its_mark_until_it_is_removed_or_over(store: Store) -> None:
    """At its end and not before it."""
    async with store.begin() as rows:
        await rows.invitations.add(invitation("two", number=1))
        await rows.invitations.add(invitation("one"))
        await rows.invitations.add(invitation("three", org=OTHER, number=2))
    async with store.read() as rows:
        assert await rows.invitations.marked("mark of one") == invitation("one")
        assert await rows.invitations.marked("mark of four") is None
        assert [one.id for one in await rows.invitations.of(ACME.id)] == ["one", "two"]
    async with store.begin() as rows:
        await rows.invitations.remove(InvitationId("two"))
        await rows.invitations.remove(InvitationId("two"))
        await rows.invitations.forget(NOW + timedelta(seconds=60))
    async with store.read() as rows:
        assert await rows.invitations.of(ACME.id) == []
        assert [one.id for one in await rows.invitations.of(OTHER.id)] == ["three"]


async def check_bounds_of_a_network_are_the_organizations_own(store: Store) -> None:
    small = NetworkBounds(host_ports=((5432, 5433),), egress=("preset:pypi",))
    async with store.begin() as rows:
        assert await rows.network_bounds.get(ACME.id) is None
        await rows.network_bounds.put(ACME.id, UNBOUNDED)
        await rows.network_bounds.put(ACME.id, small)
    async with store.read() as rows:
        assert await rows.network_bounds.get(ACME.id) == small
        assert await rows.network_bounds.get(OTHER.id) is None
    async with store.begin() as rows:
        await rows.network_bounds.put(ACME.id, None)
        await rows.network_bounds.put(ACME.id, None)
        assert await rows.network_bounds.get(ACME.id) is None
