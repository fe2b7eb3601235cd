"""Attacks on logins at a provider: by other sites, by other browsers, and by the provider."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from tests.surfaces.http.identity.browsers import Browser, browser, corp
from tests.surfaces.http.identity.hostile_provider import (
    HostileProvider,
    confused,
    foreign,
    hostile_provider,
    unsigned,
)
from tests.surfaces.http.world import World, client_of, world

CONTROL = "\x00\x1b[2J\u202e"


@pytest.fixture
async def provider() -> AsyncIterator[HostileProvider]:
    async with hostile_provider() as found:
        yield found


@pytest.fixture
async def atoll(provider: HostileProvider) -> AsyncIterator[World]:
    async with world(auth=corp(provider)) as made:
        async with client_of(made.url, made.token) as client:
            await client.post("/v1/organizations", json={"slug": "acme", "name": "Acme"})
        yield made


async def _refused(visitor: Browser, url: str) -> str:
    answer = await visitor.client.get(url)
    assert answer.status_code == 401, answer.text
    assert "Traceback" not in answer.text and "location" not in answer.headers
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    return answer.text


async def _member(visitor: Browser, person: str) -> dict[str, Any]:
    members = (await visitor.call("GET", "/v1/organizations/acme/members")).json()["members"]
    found: dict[str, Any] = next(one for one in members if one["member_id"] == person)
    return found


async def _entered(visitor: Browser, provider: HostileProvider) -> dict[str, Any]:
    ticket = await visitor.come_back(provider.confirm(await visitor.begin()))
    answer = await visitor.trade(ticket)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_login_that_was_finished_cannot_be_repeated(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        back = provider.confirm(await mal.begin())
        cookie = mal.client.cookies["atoll_oidc"]
        ticket = await mal.come_back(back)
        assert "finished before" in await _refused(mal, back)
        assert (await mal.trade(ticket)).status_code == 200
        mal.client.cookies.set("atoll_oidc", cookie)
        assert (await mal.trade(ticket)).status_code == 401
        await _refused(mal, back)


async def test_answer_without_the_cookie_is_refused(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal, browser(atoll) as victim:
        back = provider.confirm(await mal.begin())
        await _refused(victim, back)
        # The victim has begun a login, too: the state is another one.
        await victim.begin()
        await _refused(victim, back)
        assert "/token" not in provider.asked


async def test_ticket_of_another_browser_is_refused_and_used_up(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal, browser(atoll) as victim:
        ticket = await mal.come_back(provider.confirm(await mal.begin()))
        await victim.begin()
        assert (await victim.trade(ticket)).status_code == 401
        assert (await mal.trade(ticket)).status_code == 401


async def test_foreign_page_cannot_trade_a_ticket_or_log_out(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        ticket = await mal.come_back(provider.confirm(await mal.begin()))
        evil = {"Origin": "https://evil.example"}
        answer = await mal.client.post("/auth/login", json={"ticket": ticket}, headers=evil)
        assert answer.status_code == 403
        assert (await mal.trade(ticket)).status_code == 200
        for path in ("/auth/logout", "/auth/logout/everywhere"):
            assert (await mal.client.post(path, headers=evil)).status_code in {401, 403}
            own = {"Origin": atoll.url}
            assert (await mal.client.post(path, headers=own)).status_code == 401  # no page key
        assert (await mal.call("GET", "/v1/me")).status_code == 200


async def test_login_gives_a_new_session_whatever_cookie_was_there(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        mal.client.cookies.set("atoll_session", "fixed")
        await _entered(mal, provider)
        values = {one.value for one in mal.client.cookies.jar if one.name == "atoll_session"}
        assert values - {"fixed"}
        async with client_of(atoll.url) as other:
            headers = {**mal.headers, "Cookie": "atoll_session=fixed"}
            assert (await other.get("/v1/me", headers=headers)).status_code == 401


WRONG_CLAIMS: list[dict[str, Any]] = [
    {"nonce": "another"},
    {"nonce": None},
    {"aud": "somebody-else"},
    {"aud": ["atoll", "somebody-else"]},
    {"aud": None},
    {"iss": "https://evil.example"},
    {"iss": None},
    {"exp": 1},
    {"exp": None},
    {"exp": "tomorrow"},
    {"iat": 99999999999},
    {"nbf": 99999999999},
    {"azp": "somebody-else"},
    {"sub": None},
    {"sub": ""},
    {"sub": 7},
    {"sub": "x" * 256},
    {"name": "x" * 300_000},
]


async def test_wrong_claims_are_refused(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        for provider.claims in WRONG_CLAIMS:
            await _refused(mal, provider.confirm(await mal.begin()))


async def test_forged_tokens_are_refused(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        for provider.token in (unsigned, confused, foreign):
            await _refused(mal, provider.confirm(await mal.begin()))


async def test_nonsense_for_a_token_is_refused(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        for text in ("", "x", "a.b.c", "a." * 50_000, "é.é.é", "x" * 200_000):
            provider.token = lambda *_, text=text: text
            await _refused(mal, provider.confirm(await mal.begin()))


async def test_userinfo_of_somebody_else_is_refused(
    atoll: World, provider: HostileProvider
) -> None:
    provider.userinfo = {"sub": "ada", "roles": ["atoll-owner"]}
    async with browser(atoll) as mal:
        await _refused(mal, provider.confirm(await mal.begin()))


HOSTILE_CLAIMS: list[dict[str, Any]] = [
    {"name": CONTROL + "Ada", "preferred_username": "x" * 1_000_0, "email": "a@b"},
    {"name": "x" * 30_000, "groups": ["\x00", "-x", "y" * 500]},
    {"name": ["Ada"], "groups": {"-a": 1}, "roles": 7, "email": {"x": 1}},
    {"name": "", "groups": None, "roles": [["atoll-owner"]], "email_verified": "true"},
]


async def test_hostile_claims_give_nothing_and_break_nothing(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        for claims in HOSTILE_CLAIMS:
            provider.claims = {"email": "mal@example.org", **claims}
            me = await _entered(mal, provider)
            assert (me["name"], me["roles"][0]) == ("somebody", "member")
            own = await _member(mal, me["id"])
            assert (own["email"], own["groups"]) == ("", [])


async def test_unverified_email_is_left_out_and_many_groups_are_cut(
    atoll: World, provider: HostileProvider
) -> None:
    provider.claims = {
        "email": "owner@acme.example",
        "email_verified": False,
        "groups": [f"g{number}" for number in range(5000)],
    }
    async with browser(atoll) as mal:
        me = await _entered(mal, provider)
        own = await _member(mal, me["id"])
        assert own["email"] == "" and len(own["groups"]) == 64


ROUTES = [
    "https://evil.example",
    "//evil.example",
    "javascript:alert(1)",
    "login=oidc-x",
    "a/../../b",
    "a\r\nSet-Cookie: x=y",
    "%2f%2fevil.example",
    "x" * 5000,
]


async def test_next_leads_nowhere_else(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        for route in ROUTES:
            answer = await mal.client.get("/auth/oidc/corp/login", params={"next": route})
            assert answer.status_code == 302
            ticket = await mal.come_back(provider.confirm(answer.headers["location"]))
            assert (await mal.trade(ticket)).json()["next"] == ""


async def test_ticket_ends_after_a_minute(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        ticket = await mal.come_back(provider.confirm(await mal.begin()))
        atoll.clock.at += timedelta(minutes=2)
        assert (await mal.trade(ticket)).status_code == 401


async def test_errors_of_the_provider_are_a_sentence_of_ours(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        back = provider.confirm(await mal.begin()).replace("code=c", "error=<script>x</script>")
        text = await _refused(mal, f"{back}&error_description=<b>call+0900</b>")
        assert "script" not in text and "0900" not in text
        back = provider.confirm(await mal.begin())
        text = await _refused(mal, f"{back}&iss=https://evil.example")
        assert "evil" not in text
        assert 'href="/auth/oidc/corp/login"' in text and 'href="/"' in text
    async with browser(atoll) as mal:
        answer = await mal.client.get("/auth/oidc/corp/callback", params={"code": "x" * 9000})
        assert answer.status_code == 422


DISCOVERIES: list[dict[str, Any]] = [
    {"issuer": "https://evil.example"},
    {"token_endpoint": "http://169.254.169.254/token"},
    {"token_endpoint": "http://example.org/token"},
    {"jwks_uri": "file:///etc/passwd"},
    {"jwks_uri": "gopher://127.0.0.1/"},
    {"authorization_endpoint": "javascript:alert(1)"},
    {"authorization_endpoint": ["http://127.0.0.1"]},
    {"authorization_endpoint": "http://user:pw@127.0.0.1/"},
]


async def test_hostile_discovery_gets_no_request(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        for provider.discovery in DISCOVERIES:
            answer = await mal.client.get("/auth/oidc/corp/login")
            assert answer.status_code == 503 and "location" not in answer.headers
            atoll.clock.at += timedelta(seconds=10)
        assert provider.asked == ["/.well-known/openid-configuration"] * len(DISCOVERIES)


async def test_nonsense_for_discovery_is_unavailable(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as mal:
        for provider.raw in (b"", b"[]", b"{" * 100_000, b" " * 600_000, b"\xff\xfe"):
            assert (await mal.client.get("/auth/oidc/corp/login")).status_code == 503
            atoll.clock.at += timedelta(seconds=10)


async def test_silent_provider_disturbs_nobody_else(
    atoll: World, provider: HostileProvider
) -> None:
    async with browser(atoll) as ada, browser(atoll) as mal:
        await _entered(ada, provider)
        atoll.clock.at += timedelta(minutes=30)
        provider.wait = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(mal.client.get("/auth/oidc/corp/login"))
            await provider.held.wait()
            assert (await ada.call("GET", "/v1/me")).status_code == 200
            provider.wait.set()
        assert waiting.result().status_code == 302


async def test_thousand_begun_logins_cost_nothing(atoll: World, provider: HostileProvider) -> None:
    async with browser(atoll) as mal:
        identity = atoll.services.tenancy.identity
        assert identity is not None
        for _ in range(1000):
            await identity.logins.begin("corp", f"{atoll.url}/auth/oidc/corp/callback", "")
        assert provider.asked == ["/.well-known/openid-configuration"]
        async with atoll.ground.store.read() as rows:
            assert await rows.people.known(provider.issuer, "mal") is None
            assert await rows.events.last_position() < 20
        await _entered(mal, provider)


async def test_unknown_realm_is_a_page(atoll: World) -> None:
    async with browser(atoll) as mal:
        for realm in ("nowhere", "x" * 90, "%3Cscript%3E"):
            answer = await mal.client.get(f"/auth/oidc/{realm}/login")
            assert answer.status_code == 404
            assert realm not in answer.text and "script" not in answer.text
