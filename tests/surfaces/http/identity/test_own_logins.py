"""The person who runs the installation stays one person when they log in at a provider."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest

from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider
from tests.surfaces.http.identity.browsers import Browser, browser, corp
from tests.surfaces.http.world import World, client_of, world

OWN = "/v1/me/login"
ACTS = {
    "POST /v1/me/login/look": {"secret": "test_link_makes_the_login_the_same_person"},
    "POST /v1/me/login/accept": {"secret": "test_link_makes_the_login_the_same_person"},
}
ADA = {"sub": "ada", "name": "Ada", "email": "ada@example.org", "email_verified": True}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProcess]:
    with oidc_provider(
        {**ADA, "org": ["acme"], "roles": ["atoll-viewer"]},
        {"sub": "bob", "name": "Bob", "org": ["acme"]},
        {"sub": "eve", "name": "Eve"},
    ) as found:
        yield found


@pytest.fixture
async def atoll(provider: OidcProcess) -> AsyncIterator[World]:
    async with world(auth=corp(provider)) as made:
        await _ask(made, "POST", "/v1/organizations", json={"slug": "acme", "name": "Acme"})
        yield made


async def _ask(atoll: World, method: str, path: str, **more: Any) -> Any:
    """Call as the command line of the installation's person does; return what is answered."""
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.request(method, path, **more)
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


async def _secret(atoll: World) -> str:
    made = await _ask(atoll, "POST", OWN)
    assert made["url"] == f"{atoll.url}/#link={made['secret']}" and made["expires_in"] == 600
    found: str = made["secret"]
    return found


async def _accept(visitor: Browser, secret: str) -> tuple[int, str]:
    answer = await visitor.call("POST", f"{OWN}/accept", json={"secret": secret})
    found = answer.json()
    return answer.status_code, found.get("code", found.get("id", ""))


async def test_link_makes_the_login_the_same_person(atoll: World, provider: OidcProcess) -> None:
    made = await _ask(atoll, "POST", "/v1/dashboards", json={"name": "Release"})
    async with browser(atoll) as ada:
        before = await ada.log_in(provider, "ada")
        assert before["id"].startswith("usr_") and before["roles"][0] == "viewer"
        secret = await _secret(atoll)
        shown = (await ada.call("POST", f"{OWN}/look", json={"secret": secret})).json()
        assert shown == {"person": "person", "name": "Ada", "email": "ada@example.org"}
        assert await _accept(ada, secret) == (200, "person")
        me = (await ada.call("GET", "/v1/me")).json()
        assert (me["id"], me["org_id"], me["name"]) == ("person", "personal", "Ada")
        assert me["interactive"] and me["roles"][0] == "owner"
        boards = (await ada.call("GET", "/v1/dashboards")).json()["dashboards"]
        assert [(one["id"], one["role"]) for one in boards] == [(made["id"], "owner")]
        sessions = (await ada.call("GET", "/v1/me/sessions")).json()["sessions"]
        assert [one["current"] for one in sessions] == [True]
        members = await _ask(atoll, "GET", "/v1/organizations/acme/members")
        told = [(one["member_id"], one["name"], one["email"]) for one in members["members"]]
        assert told == [("person", "Ada", "ada@example.org")]
    async with browser(atoll) as again:  # a later login, in another browser
        me = await again.log_in(provider, "ada")
        assert (me["id"], me["name"]) == ("person", "Ada")
    atoll.clock.at += timedelta(minutes=11)
    identity = atoll.services.tenancy.identity
    assert identity is not None
    await identity.refreshes.refresh_due()  # the claim still says viewer
    async with browser(atoll) as again:
        assert (await again.log_in(provider, "ada"))["roles"][0] == "owner"


async def test_name_that_the_person_chose_stays(atoll: World, provider: OidcProcess) -> None:
    await _ask(atoll, "PATCH", "/v1/me", json={"name": "Captain"})
    async with browser(atoll) as ada:
        await ada.log_in(provider, "ada")
        assert await _accept(ada, await _secret(atoll)) == (200, "person")
        assert (await ada.call("GET", "/v1/me")).json()["name"] == "Captain"
        assert (await _ask(atoll, "GET", OWN))["email"] == "ada@example.org"


async def test_link_that_is_wrong_used_old_or_foreign_is_refused(
    atoll: World, provider: OidcProcess
) -> None:
    async with browser(atoll) as bob, world(auth=corp(provider)) as other:
        await bob.log_in(provider, "bob")
        for wrong in ("x", "x" * 43, await _secret(other)):
            assert await _accept(bob, wrong) == (404, "not_found")
        old = await _secret(atoll)
        atoll.clock.at += timedelta(minutes=10)
        assert await _accept(bob, old) == (404, "not_found")
        used = await _secret(atoll)
        async with browser(atoll) as ada:
            await ada.log_in(provider, "ada")
            assert await _accept(ada, used) == (200, "person")
        assert await _accept(bob, used) == (409, "linked_already")
        assert (await bob.call("GET", "/v1/me")).json()["id"].startswith("usr_")
        async with client_of(atoll.url, atoll.token) as owner:
            again = await owner.post(OWN)
        assert again.status_code == 409 and "atoll org unlink" in again.json()["detail"]


async def test_of_two_who_open_a_link_at_once_one_is_the_person(
    atoll: World, provider: OidcProcess
) -> None:
    for same in (False, True):
        first = await _secret(atoll)
        second = first if same else await _secret(atoll)
        async with browser(atoll) as bob, browser(atoll) as eve:
            await bob.log_in(provider, "bob")
            await eve.log_in(provider, "eve")
            both = await asyncio.gather(_accept(bob, first), _accept(eve, second))
            assert sorted(code for code, _ in both) == [200, 409]
            ids = [(await one.call("GET", "/v1/me")).json()["id"] for one in (bob, eve)]
            assert sum(one == "person" for one in ids) == 1
            await _ask(atoll, "DELETE", OWN)


async def test_without_a_link_nobody_is_the_person(atoll: World, provider: OidcProcess) -> None:
    """Attack: a member makes a link, and one who shares the person's browser logs in there."""
    owner = await atoll.browser()
    async with browser(atoll) as bob:
        me = await bob.log_in(provider, "bob")
        bob.headers["Cookie"] = owner["Cookie"]  # the person's cookie lies in this browser, too
        for method, path in (("POST", OWN), ("GET", OWN), ("DELETE", OWN)):
            assert (await bob.call(method, path)).status_code in {401, 403}
        del bob.headers["Cookie"]
        for method, path in (("POST", OWN), ("GET", OWN), ("DELETE", OWN)):
            assert (await bob.call(method, path)).status_code == 403
        again = await bob.log_in(provider, "bob")
        assert again["id"] == me["id"] != "person"


async def test_only_a_login_at_a_provider_opens_a_link(atoll: World, provider: OidcProcess) -> None:
    secret = await _secret(atoll)
    body = {"secret": secret}
    async with client_of(atoll.url, atoll.token) as owner, browser(atoll) as bob:
        own = await owner.post(f"{OWN}/accept", json=body)
        assert (own.status_code, own.json()["code"]) == (409, "not_logged_in")
        pat = (await owner.post("/auth/pat", json={"name": "p"})).json()["token"]
        await bob.log_in(provider, "bob")
        his = (await bob.call("POST", "/auth/pat", json={"name": "p"})).json()["token"]
    async with client_of(atoll.url, pat) as program:
        assert (await program.post(OWN)).status_code == 403
    async with client_of(atoll.url, his) as program:
        assert (await program.post(f"{OWN}/accept", json=body)).status_code == 403
    async with client_of(atoll.url) as nobody:
        assert (await nobody.post(f"{OWN}/accept", json=body)).status_code == 401


async def test_who_has_something_of_their_own_gives_it_away_first(
    atoll: World, provider: OidcProcess
) -> None:
    async with browser(atoll) as bob:
        await bob.log_in(provider, "bob")
        made = (await bob.call("POST", "/v1/dashboards", json={"name": "Mine"})).json()["id"]
        secret = await _secret(atoll)
        answer = await bob.call("POST", f"{OWN}/accept", json={"secret": secret})
        assert answer.status_code == 409 and "1 dashboards" in answer.json()["detail"]
        given = await bob.call("POST", f"/v1/dashboards/{made}/owner", json={"member": "person"})
        assert given.status_code == 204
        assert await _accept(bob, secret) == (200, "person")


async def test_end_of_the_login_makes_it_somebody_else(atoll: World, provider: OidcProcess) -> None:
    async with browser(atoll) as ada:
        await ada.log_in(provider, "ada")
        await _accept(ada, await _secret(atoll))
        await _ask(atoll, "DELETE", OWN)
        assert (await ada.call("GET", "/v1/me")).status_code == 401
        assert (await ada.log_in(provider, "ada"))["id"].startswith("usr_")
        async with client_of(atoll.url, atoll.token) as owner:
            assert (await owner.get(OWN)).json()["linked"] is False
            assert (await owner.delete(OWN)).status_code == 404
        assert await _accept(ada, await _secret(atoll)) == (200, "person")
