"""What claims make of somebody."""

from typing import Any

import pytest

from atoll.domain.errors import Invalid, Unauthenticated
from atoll.domain.people.claims import ClaimedRole, read_claims, unique_name
from atoll.domain.people.realm import Realm, is_safe_url
from atoll.wire.words.people import OrgRole

ISSUER = "https://id.example/realms/corp"
WHOLE = Realm("corp", ISSUER, "atoll", claim_role="realm_access.roles")
ONE = Realm("acme", ISSUER, "atoll", organization="acme", strangers="viewer")
IMPLIED = ClaimedRole(OrgRole.MEMBER, implied=True)


def realm_roles(*names: str, **more: Any) -> dict[str, Any]:
    return {"sub": "ada", "realm_access": {"roles": [*names]}, **more}


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        (realm_roles(), {}),
        (realm_roles(org="acme"), {"acme": IMPLIED}),
        (realm_roles(org={"acme": {"id": "1"}, "b c": {}}), {"acme": IMPLIED}),
        (realm_roles("atoll-viewer", "atoll-admin", org=["a"]), {"a": ClaimedRole(OrgRole.ADMIN)}),
        (realm_roles("org:b:admin", org=["a"]), {"a": IMPLIED, "b": ClaimedRole(OrgRole.ADMIN)}),
        (
            realm_roles("atoll-owner", "org:a:admin", "org:x y:admin", org=["a"]),
            {"a": ClaimedRole(OrgRole.OWNER)},
        ),
        ({"sub": "ada", "realm_access": "no object", "org": 7}, {}),
    ],
)
def test_roles_of_the_whole_installation(claims: Any, roles: dict[str, ClaimedRole]) -> None:
    assert read_claims(WHOLE, claims).roles == roles


def test_realm_of_one_organization_gives_roles_there_alone() -> None:
    stranger = ClaimedRole(OrgRole.VIEWER, implied=True, lasting=False)
    given: dict[str, Any] = {
        "sub": "ada",
        "org": ["beta"],
        "roles": ["org:beta:admin", "sovereign-admin"],
    }
    found = read_claims(ONE, given)
    assert (found.roles, found.sovereign) == ({"acme": stranger}, False)
    found = read_claims(ONE, {"sub": "ada", "roles": "atoll-admin"})
    assert found.roles == {"acme": ClaimedRole(OrgRole.ADMIN)}
    assert read_claims(Realm("b", ISSUER, "atoll", organization="b"), given).roles == {}


def test_organization_alone_gives_nothing_where_no_role_is_implied() -> None:
    strict = Realm("corp", ISSUER, "atoll", claimed_role="")
    assert read_claims(strict, {"sub": "ada", "org": ["a"]}).roles == {}


def test_administrator_of_the_installation_is_named_or_mapped() -> None:
    mapped = Realm("corp", ISSUER, "atoll", roles={"boss": "sovereign-admin"})
    assert read_claims(WHOLE, realm_roles("sovereign-admin")).sovereign
    assert read_claims(mapped, {"sub": "ada", "roles": ["boss"]}).sovereign
    assert not read_claims(mapped, {"sub": "ada", "roles": ["bos"]}).sovereign


def test_person_is_described_by_what_may_be_shown() -> None:
    found = read_claims(
        ONE,
        {
            "sub": "ada",
            "name": "\x1b[2J",
            "preferred_username": "ada.l",
            "email": "ada@example.org",
            "email_verified": True,
            "groups": ["/dev", "/dev", "", 7],
        },
    )
    assert (found.name, found.email, found.groups) == ("ada.l", "ada@example.org", ("/dev",))
    found = read_claims(ONE, {"sub": "ada", "name": "x" * 65, "email": "a@b", "groups": None})
    assert (found.name, found.email, found.groups) == ("somebody", "", ())


@pytest.mark.parametrize("subject", [None, "", 7, "x" * 256])
def test_claims_without_a_subject_are_refused(subject: Any) -> None:
    with pytest.raises(Unauthenticated):
        read_claims(WHOLE, {"sub": subject})


def test_name_that_another_member_has_gets_a_number() -> None:
    assert unique_name("Ada", ["Bob"]) == "Ada"
    assert unique_name("Ada", ["Ada", "Ada 2"]) == "Ada 3"
    assert len(unique_name("x" * 64, ["x" * 64])) == 64


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://id.example/a?b=c", True),
        ("http://127.0.0.1:1/", True),
        ("http://[::1]:1/", True),
        ("http://id.example/", False),
        ("https://user@id.example/", False),
        ("https://id.example/#a", False),
        ("https://id.example:x/", False),
        ("https:///x", False),
        ("ftp://id.example/", False),
        ("https://id.example/\n", False),
    ],
)
def test_url_is_safe_by_tls_or_on_loopback(url: str, safe: bool) -> None:
    assert is_safe_url(url, plain=True) is safe
    assert is_safe_url("http://127.0.0.1/", plain=False) is False


@pytest.mark.parametrize(
    "wrong",
    [
        {"realm": "Corp"},
        {"issuer": "http://id.example"},
        {"issuer": "https://id.example?a=b"},
        {"client_id": ""},
        {"client_id": "a\n"},
        {"scopes": ("profile",)},
        {"claimed_role": "boss"},
        {"strangers": "member"},
        {"organization": "a", "strangers": "boss"},
        {"roles": {"x": "boss"}},
        {"organization": "a", "roles": {"x": "sovereign-admin"}},
    ],
)
def test_realm_that_cannot_be_meant_is_invalid(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        Realm(**{"realm": "corp", "issuer": ISSUER, "client_id": "atoll", **wrong})


def test_realm_is_called_by_its_name() -> None:
    assert (WHOLE.title, Realm("a", ISSUER, "c", name="A Corp").title) == ("corp", "A Corp")
    assert not WHOLE.local and Realm("a", "http://127.0.0.1:1", "c").local
