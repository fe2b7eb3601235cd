import pytest

from atoll.domain.errors import Forbidden
from atoll.domain.ids import OrgId
from atoll.domain.people.capability import (
    EVERY_CAPABILITY,
    GUEST_CAPABILITIES,
    ROLE_CAPABILITIES,
    Capability,
    capabilities_of,
    delegate,
    role_claims,
)
from atoll.domain.people.principal import LOCAL_PERSON, SYSTEM
from atoll.wire.words.people import OrgRole

ACME = OrgId("acme")


def test_roles_shrink_from_owner_to_viewer() -> None:
    owner, admin, member, viewer = (ROLE_CAPABILITIES[role] for role in OrgRole)
    assert owner == admin > member > viewer


def test_nobody_in_an_organization_manages_the_installation() -> None:
    assert all(Capability.SYSTEM_MANAGE not in capabilities_of(role) for role in OrgRole)
    assert capabilities_of(OrgRole.VIEWER, sovereign=True) == EVERY_CAPABILITY


def test_viewer_changes_nothing_of_others() -> None:
    verbs = {one.value.rpartition(".")[2] for one in ROLE_CAPABILITIES[OrgRole.VIEWER]}
    changing = {one for one in ROLE_CAPABILITIES[OrgRole.VIEWER] if one.endswith(".manage")}
    assert verbs <= {"read", "watch", "manage"}
    assert changing == {Capability.ME, Capability.TOKEN_MANAGE}


def test_guest_has_nothing_of_the_organization() -> None:
    assert ROLE_CAPABILITIES[OrgRole.MEMBER] >= GUEST_CAPABILITIES
    assert Capability.SANDBOX_READ not in GUEST_CAPABILITIES


@pytest.mark.parametrize(
    ("role", "sovereign", "claims"),
    [
        (OrgRole.OWNER, False, ("owner", "org:acme:admin")),
        (OrgRole.ADMIN, False, ("admin", "org:acme:admin")),
        (OrgRole.MEMBER, False, ("member",)),
        (OrgRole.VIEWER, True, ("viewer", "sovereign-admin")),
    ],
)
def test_role_claims(role: OrgRole, sovereign: bool, claims: tuple[str, ...]) -> None:
    assert role_claims(ACME, role, sovereign=sovereign) == claims


def test_delegation_is_a_subset() -> None:
    own = ROLE_CAPABILITIES[OrgRole.VIEWER]
    assert delegate(own, None) == own
    assert delegate(own, ["sandbox.read"]) == {Capability.SANDBOX_READ}
    assert delegate(own, []) == frozenset()


@pytest.mark.parametrize("asked", ["sandbox.create", "no.such", "", "SANDBOX.READ", "*"])
def test_delegation_of_what_one_has_not_is_forbidden(asked: str) -> None:
    with pytest.raises(Forbidden, match="do not have it yourself"):
        delegate(ROLE_CAPABILITIES[OrgRole.VIEWER], ["sandbox.read", asked])


def test_single_person_and_system_may_do_everything() -> None:
    assert all(LOCAL_PERSON.may(one) and SYSTEM.may(one) for one in Capability)
    assert LOCAL_PERSON.roles == ("owner", "org:personal:admin", "sovereign-admin")
