from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SecretId
from atoll.domain.secrets.secret import (
    Place,
    ScopeSubject,
    Secret,
    Use,
    applicable_secrets,
    bound_to,
    check_look_alikes,
    check_use,
    in_scope,
    look_alikes,
    no_key,
    paying,
    paying_any,
    read_place,
    read_scope,
    read_secret_name,
)
from atoll.wire.words.forges import ForgeKind
from atoll.wire.words.secrets import Purpose

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CUSTOM = Use(Purpose.CUSTOM)
GIT = Use(Purpose.GIT, "https://example.org/o/r.git")
HERE = ScopeSubject(OrgId("org"), PrincipalId("me"), "sb_1", "profile.shell")


def secret(name: str, scope: str = "person", use: Use = CUSTOM, *, age: int = 0) -> Secret:
    at = NOW - timedelta(seconds=age)
    return Secret(
        SecretId(f"sec_{name}_{scope}"),
        OrgId("org"),
        PrincipalId("me"),
        name,
        scope,
        use,
        1,
        "f",
        "",
        9,
        at,
        at,
    )


@pytest.mark.parametrize("name", ["A", "my_key-2", "_x", "a" * 64])
def test_name_of_plain_characters_is_taken(name: str) -> None:
    assert read_secret_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "1a", "a b", "a/b", "ä", "a" * 65, "a\n", "../x", "-a", "sec_x"]
)
def test_name_of_anything_else_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_secret_name(name)
    assert caught.value.field == "name"


@pytest.mark.parametrize("scope", ["person", "organization", "profile:profile.shell"])
def test_scope_is_taken(scope: str) -> None:
    assert read_scope(scope) == scope
    assert read_scope("sandbox:sb_" + "a" * 16)


@pytest.mark.parametrize("scope", ["", "everyone", "sandbox:", "sandbox:x", "profile:shell"])
def test_scope_of_nothing_is_refused(scope: str) -> None:
    with pytest.raises(Invalid):
        read_scope(scope)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("API.Example.com", Place("api.example.com")),
        ("a.example:8443", Place("a.example", 8443)),
        ("bücher.example.", Place("xn--bcher-kva.example")),
        ("[::1]:80", Place("::1", 80)),
        ("2001:db8::1", Place("2001:db8::1")),
        ("[2001:db8::1]", Place("2001:db8::1")),
    ],
)
def test_place_has_one_spelling(text: str, place: Place) -> None:
    assert read_place(text) == place


@pytest.mark.parametrize(
    "text", ["", "a b", "a:0", "a:65536", "a:x", "http://a", "u@a", "127.1", "a:²", "a/b"]
)
def test_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_place(text)
    assert caught.value.field == "hosts"


@pytest.mark.parametrize(
    "use",
    [
        CUSTOM,
        Use(Purpose.CUSTOM, slot="header", slot_name="X-Key"),
        Use(Purpose.CUSTOM, slot="query", slot_name="key"),
        Use(Purpose.CUSTOM, slot="basic", slot_name="me"),
        Use(Purpose.CUSTOM, headers=("X-Shard", "Depth")),
        Use(Purpose.CUSTOM, variable="KEY"),
        Use(Purpose.PROVIDER, "openai", brokered=False),
        Use(Purpose.PROVIDER, "openai", base_url="https://gateway.example/x"),
        Use(Purpose.ENV, variable="DB_URL", brokered=False),
        GIT,
        replace(GIT, push=("refs/heads/atoll/*",)),
    ],
)
def test_use_that_makes_sense_is_taken(use: Use) -> None:
    assert check_use(use) is use


@pytest.mark.parametrize(
    ("use", "field"),
    [
        (Use(Purpose.PROVIDER, "nobody"), "provider"),
        (Use(Purpose.PROVIDER, "openai", base_url="http://gateway.example"), "base_url"),
        (Use(Purpose.CUSTOM, headers=("X-Forwarded-For",)), "headers"),
        (Use(Purpose.CUSTOM, headers=("x_shard",)), "headers"),
        (Use(Purpose.CUSTOM, headers=("a b",)), "headers"),
        (Use(Purpose.CUSTOM, headers=("X-A",) * 33), "headers"),
        (Use(Purpose.CUSTOM, slot_name="x"), "slot_name"),
        (Use(Purpose.CUSTOM, slot="header"), "slot_name"),
        (Use(Purpose.CUSTOM, slot="header", slot_name="Host"), "slot_name"),
        (Use(Purpose.CUSTOM, slot="header", slot_name="a\r\nb"), "slot_name"),
        (Use(Purpose.CUSTOM, slot="query", slot_name="a&b"), "slot_name"),
        (Use(Purpose.CUSTOM, slot="basic", slot_name="a:b"), "slot_name"),
        (Use(Purpose.CUSTOM, places=tuple(Place(f"h{n}") for n in range(33))), "hosts"),
        (Use(Purpose.CUSTOM, brokered=False), "env"),
        (Use(Purpose.CUSTOM, variable="PATH"), "env"),
        (Use(Purpose.CUSTOM, variable="a=b"), "env"),
        (Use(Purpose.ENV, brokered=False), "env"),
        (Use(Purpose.ENV, variable="X"), "broker_protected"),
        (Use(Purpose.PROVIDER, "openai", places=(Place("a.example"),)), "hosts"),
        (Use(Purpose.PROVIDER, "openai", slot="header", slot_name="X-Key"), "slot"),
        (Use(Purpose.CUSTOM, base_url="https://gateway.example"), "base_url"),
        (Use(Purpose.CUSTOM, push=("refs/heads/x",)), "push"),
        (Use(Purpose.ENV, variable="DB", brokered=False, headers=("X-A",)), "headers"),
        (replace(GIT, forge=ForgeKind.GITHUB), "forge"),
        (Use(Purpose.EXTENSION, "ext.e2b", places=(Place("a.example"),)), "hosts"),
        (replace(GIT, target="http://example.org/r"), "remote"),
        (replace(GIT, target="https://Example.org/r"), "remote"),
        (replace(GIT, target="https://u@example.org/r"), "remote"),
        (replace(GIT, target="https://example.org/"), "remote"),
        (replace(GIT, target="https://example.org/r?x"), "remote"),
        (replace(GIT, target=""), "remote"),
        (replace(GIT, push=("main",)), "push"),
    ],
)
def test_use_that_makes_none_is_refused(use: Use, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_use(use)
    assert caught.value.field == field


def test_scope_counts_only_where_it_says() -> None:
    other = replace(HERE, owner=PrincipalId("you"))
    assert in_scope(secret("a", "person"), HERE)
    assert not in_scope(secret("a", "person"), other)
    assert in_scope(secret("a", "organization"), other)
    assert not in_scope(secret("a", "organization"), replace(HERE, org_id=OrgId("else")))
    assert in_scope(secret("a", "sandbox:sb_1"), HERE)
    assert not in_scope(secret("a", "sandbox:sb_2"), HERE)
    assert not in_scope(secret("a", "sandbox:sb_1"), other)
    assert in_scope(secret("a", "profile:profile.shell"), HERE)


def test_narrower_scope_wins_then_the_newer() -> None:
    scopes = ("organization", "person", "profile:profile.shell", "sandbox:sb_1")
    same = [secret("a", scope, age=-index) for index, scope in enumerate(reversed(scopes))]
    for least in range(4):
        chosen = applicable_secrets(same[least:], HERE)
        assert [one.scope for one in chosen] == [[*reversed(scopes)][least]]
    key = Use(Purpose.PROVIDER, "openai")
    two = [secret("new", use=key), secret("old", use=key, age=5)]
    assert [one.name for one in applicable_secrets(two, HERE)] == ["new"]
    variable = Use(Purpose.ENV, variable="V", brokered=False)
    kinds = [secret("a"), secret("k", use=key), secret("e", use=variable), secret("g", use=GIT)]
    assert len(applicable_secrets(kinds, HERE)) == 4


def test_binding_holds_everything_that_gives_a_value_its_place() -> None:
    one = secret("a", use=replace(CUSTOM, places=(Place("h", 1),)))
    changed = [
        replace(one, scope="organization"),
        replace(one, owner=PrincipalId("you")),
        replace(one, version=2),
        replace(one, use=replace(one.use, places=(Place("h", 2),))),
        replace(one, use=replace(one.use, brokered=False)),
    ]
    assert len({bound_to(each) for each in (one, *changed)}) == 6
    assert one.holder == "me"
    assert replace(one, scope="organization").holder == ""
    assert not one.exposed


def test_look_alikes_are_hosts_with_letters_beyond_ascii_wherever_they_stand() -> None:
    odd, read = "xn--pi-6kc.openai.com", "\u0430pi.openai.com"
    assert look_alikes(Use(Purpose.CUSTOM, places=(Place(odd), Place("a.example")))) == (
        (read, odd),
    )
    gateway = Use(Purpose.PROVIDER, "openai", base_url=f"https://{odd}/v1")
    assert look_alikes(gateway) == ((read, odd),)
    assert look_alikes(Use(Purpose.GIT, f"https://{odd}/o/r")) == ((read, odd),)
    assert look_alikes(Use(Purpose.GIT, "https://-x-/o")) == ()
    check_look_alikes(Use(Purpose.PROVIDER, "openai"))
    with pytest.raises(Invalid, match=odd):
        check_look_alikes(gateway)


FORGE = Use(Purpose.FORGE, "https://github.com", forge=ForgeKind.GITHUB)


@pytest.mark.parametrize(
    "use",
    [
        FORGE,
        replace(FORGE, target="https://ghe.example.org"),
        Use(Purpose.FORGE, "https://git.example.org:3000/tea", forge=ForgeKind.GITEA),
    ],
)
def test_forges_token_is_for_its_site_alone(use: Use) -> None:
    assert check_use(use) == use
    one = secret("a", use=use)
    assert bound_to(one) != bound_to(replace(one, use=replace(use, target="https://evil.example")))
    other = ForgeKind.GITEA if use.forge is ForgeKind.GITHUB else ForgeKind.GITHUB
    assert bound_to(one) != bound_to(replace(one, use=replace(use, forge=other)))


@pytest.mark.parametrize(
    ("use", "field"),
    [
        (replace(FORGE, forge=None), "forge"),
        (replace(FORGE, target="https://github.com/owner"), "remote"),
        (replace(FORGE, target="https://github.com/"), "remote"),
        (replace(FORGE, target="http://github.com"), "remote"),
        (replace(FORGE, target="https://me@github.com"), "remote"),
        (replace(FORGE, variable="TOKEN"), "env"),
        (replace(FORGE, brokered=False), "env"),
    ],
)
def test_forges_token_without_a_site_or_inside_is_refused(use: Use, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_use(use)
    assert caught.value.field == field


def test_forges_token_is_chosen_for_each_site() -> None:
    mine, wide = secret("a", use=FORGE), secret("b", "organization", FORGE)
    assert applicable_secrets((wide, mine), HERE) == (mine,)


def test_token_of_a_drive_is_set_by_connecting_it_alone() -> None:
    use = Use(Purpose.DRIVE, target="ann@example.org")
    with pytest.raises(Invalid, match="drive connect"):
        check_use(use)
    older, newer = secret("a", use=use), secret("b", use=use)
    assert len(applicable_secrets((older, newer), HERE)) == 1


def test_tokens_of_a_login_are_never_set() -> None:
    use = Use(Purpose.OAUTH, target="codex")
    with pytest.raises(Invalid, match="begun, not set"):
        check_use(use)
    mine = (secret("a", use=use), secret("b", use=use))
    assert len(applicable_secrets(mine, HERE)) == 2


VENDOR = Use(Purpose.EXTENSION, "ext.e2b")


def test_vendors_key_names_its_backend_and_never_enters_a_sandbox() -> None:
    assert check_use(VENDOR) == VENDOR
    for use, field in (
        (replace(VENDOR, target="e2b"), "extension"),
        (replace(VENDOR, target=""), "extension"),
        (replace(VENDOR, variable="E2B_API_KEY"), "env"),
        (replace(VENDOR, brokered=False), "env"),
    ):
        with pytest.raises(Invalid) as caught:
            check_use(use)
        assert caught.value.field == field
    mine, wide = secret("a", use=VENDOR), secret("b", "organization", VENDOR)
    assert applicable_secrets((wide, mine), HERE) == (mine,)


def test_narrowest_key_pays_and_the_installations_last() -> None:
    wide = secret("a", "organization", VENDOR)
    old, new = secret("b", use=VENDOR, age=9), secret("c", use=VENDOR)
    narrow = secret("d", "sandbox:sb_1", VENDOR, age=99)
    others = replace(secret("e", use=VENDOR), owner=PrincipalId("other"))
    elsewhere = secret("f", use=replace(VENDOR, target="ext.other"))
    shared = replace(wide, org_id=PERSONAL_ORG, id=SecretId("sec_shared"))
    hers = replace(shared, scope="person", id=SecretId("sec_hers"))
    known = (shared, hers, wide, old, others, elsewhere, new, narrow, secret("g"))
    assert paying(known, "ext.e2b", HERE) == (narrow, new, old, wide, shared)
    assert paying(known, "ext.e2b", replace(HERE, org_id=PERSONAL_ORG)) == (hers, shared)
    assert set(paying_any(known, "ext.e2b")) == set(known) - {elsewhere, known[-1]}
    assert paying_any((), "ext.e2b") == ()
    assert "atoll secret set NAME --extension ext.e2b" in no_key("ext.e2b")
