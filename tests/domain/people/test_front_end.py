"""Principals that a trusted front end names: known in every spelling, one at a time."""

import pytest

from atoll.domain.errors import Invalid, Unauthenticated
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.people.capability import Capability
from atoll.domain.people.front_end import (
    GUEST_SCOPE,
    USER,
    NamedPrincipal,
    guest_of_scope,
    is_guest_org,
    names_principal,
    read_principal,
)
from atoll.domain.people.organization import read_slug


@pytest.mark.parametrize(
    "name", [USER, GUEST_SCOPE, "X-OA-User-Id", "x_oa_user_id", "X-Oa_Guest-Scope"]
)
def test_header_meant_for_a_principal_is_known_in_every_spelling(name: str) -> None:
    assert names_principal(["host", name])
    assert not names_principal(["host", "x-oa-user", f"{name}-2"])


def test_principal_is_a_user_or_a_guest_scope() -> None:
    assert read_principal({USER: [" ann "], "host": ["h"]}) == NamedPrincipal(user="ann")  # type: ignore[arg-type]
    assert read_principal({GUEST_SCOPE: ["g-1"]}) == NamedPrincipal(guest_scope="g-1")


@pytest.mark.parametrize(
    "headers",
    [
        {USER: ["ann", "bob"]},
        {USER: ["ann"], GUEST_SCOPE: ["g"]},
        {USER: ["ann"], "x_oa_user_id": ["bob"]},
        {"x_oa_user_id": ["ann"]},
        {USER: ["ann, bob"]},
        {USER: [""]},
        {GUEST_SCOPE: ["../g"]},
        {GUEST_SCOPE: ["G"]},
    ],
)
def test_ambiguous_or_wrong_principal_is_refused(headers: dict[str, list[str]]) -> None:
    with pytest.raises(Unauthenticated):
        read_principal(headers)


def test_guest_is_alone_in_an_organization_that_no_slug_can_name() -> None:
    one, two = guest_of_scope("a"), guest_of_scope("b")
    assert one.org_id != two.org_id and not one.interactive
    assert not one.may(Capability.SECRET_READ) and not one.may(Capability.APPROVAL_DECIDE)
    with pytest.raises(Invalid, match="slug"):
        read_slug(one.org_id)


def test_organization_of_a_guest_is_told_from_any_other() -> None:
    assert is_guest_org(guest_of_scope("a").org_id)
    assert not is_guest_org(PERSONAL_ORG)
    assert not is_guest_org(OrgId("scope-a"))
