"""Organizations: names, who may change whom, and the last owner."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Conflict, Forbidden, Invalid
from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.capability import Capability
from atoll.domain.people.organization import (
    Member,
    check_groups_ours,
    check_kind,
    check_may_set,
    check_owner_stays,
    invitation_end,
    member_principal,
    read_groups,
    read_slug,
)
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import MAX_GROUPS, OrgRole

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANN = Member(
    OrgId("org_1"), PrincipalId("ann"), ActorKind.PERSON, "Ann", "", OrgRole.OWNER, ("a",), NOW
)
BOB = replace(ANN, id=PrincipalId("bob"), name="Bob", role=OrgRole.ADMIN)


@pytest.mark.parametrize("slug", ["acme", "a1", "a-b-c", "x" * 40])
def test_slug_of_an_organization_is_taken(slug: str) -> None:
    assert read_slug(slug) == slug


@pytest.mark.parametrize(
    "slug", ["", "a", "A1", "1a", "a-", "-a", "a_b", "x" * 41, "guests", "org-x", "aé", "a\n"]
)
def test_slug_that_could_be_taken_for_something_else_is_refused(slug: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_slug(slug)
    assert caught.value.field == "slug"


def test_groups_are_sorted_and_each_is_there_once() -> None:
    assert read_groups(["b", "/a", "b"]) == ("/a", "b")


@pytest.mark.parametrize("groups", [[""], [" x"], ["a" * 129], [str(i) for i in range(65)]])
def test_groups_beyond_the_bounds_are_refused(groups: list[str]) -> None:
    assert MAX_GROUPS == 64
    with pytest.raises(Invalid) as caught:
        read_groups(groups)
    assert caught.value.field == "groups"


@pytest.mark.parametrize("own", list(OrgRole))
@pytest.mark.parametrize("role", list(OrgRole))
@pytest.mark.parametrize("before", [None, *OrgRole])
def test_only_owners_make_and_change_owners_and_only_administrators_anybody(
    own: OrgRole, role: OrgRole, before: OrgRole | None
) -> None:
    about_owner = OrgRole.OWNER in (role, before)
    may = own is OrgRole.OWNER or (own is OrgRole.ADMIN and not about_owner)
    if may:
        check_may_set(own, role, before)
    else:
        with pytest.raises(Forbidden):
            check_may_set(own, role, before)


def test_service_account_may_be_anything_but_an_owner() -> None:
    for role in OrgRole:
        check_kind(ActorKind.PERSON, role)
        if role is not OrgRole.OWNER:
            check_kind(ActorKind.AUTOMATION, role)
    with pytest.raises(Invalid):
        check_kind(ActorKind.AUTOMATION, OrgRole.OWNER)


def test_last_owner_stays_and_others_may_go() -> None:
    check_owner_stays([ANN, BOB], BOB)
    check_owner_stays([ANN, replace(BOB, role=OrgRole.OWNER)], ANN)
    with pytest.raises(Conflict) as caught:
        check_owner_stays([ANN, BOB], ANN)
    assert caught.value.code == "last_owner"


def test_groups_of_a_provider_are_not_changed_here() -> None:
    check_groups_ours(BOB)
    with pytest.raises(Conflict) as caught:
        check_groups_ours(replace(BOB, groups_claimed=True))
    assert (caught.value.code, caught.value.field) == ("groups_claimed", "groups")


def test_member_as_a_caller_has_what_its_role_allows() -> None:
    caller = member_principal(replace(BOB, role=OrgRole.VIEWER), interactive=True)
    assert (caller.org_id, caller.id, caller.name) == ("org_1", "bob", "Bob")
    assert (caller.interactive, caller.roles, caller.groups) == (True, ("viewer",), ("a",))
    assert caller.may(Capability.TERMINAL_WATCH)
    assert not caller.may(Capability.TERMINAL_USE)
    assert not member_principal(ANN).may(Capability.SYSTEM_MANAGE)
    assert member_principal(ANN, sovereign=True).may(Capability.SYSTEM_MANAGE)


def test_invitation_ends_within_a_month() -> None:
    assert invitation_end(NOW, 60) == NOW + timedelta(seconds=60)
    for seconds in (0, 30 * 86400 + 1):
        with pytest.raises(Invalid):
            invitation_end(NOW, seconds)
