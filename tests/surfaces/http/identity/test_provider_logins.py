"""Logins at a real provider: the way there and back, what claims make of somebody, log-outs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from atoll.domain.people.realm import Realm
from atoll.ports import StoreUnavailable
from atoll.ports.outside.identity import ProviderAnswer, ProviderBusy
from atoll.ports.vault import Sealed
from atoll.services import task_runner
from atoll.services.application import Identity
from atoll.services.people.identity.refreshes import ANSWER_TIME, AT_ONCE
from tests.peers.identity.oidc_provider import OidcProcess, oidc_provider
from tests.surfaces.http.identity.browsers import Browser, browser, corp
from tests.surfaces.http.world import World, client_of, world

ADA = {"sub": "ada", "name": "Ada", "email": "ada@example.org", "email_verified": True}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProcess]:
    with oidc_provider(
        {**ADA, "org": ["acme"], "roles": ["atoll-admin"], "groups": ["/dev"]},
        {"sub": "eve", "name": "Eve"},
    ) as found:
        yield found


def _identity(atoll: World) -> Identity:
    found = atoll.services.tenancy.identity
    assert found is not None
    return found


async def _refresh(atoll: World) -> None:
    """Let the time pass after which claims are read again, and read them."""
    atoll.clock.at += timedelta(minutes=11)
    await _identity(atoll).refreshes.refresh_due()


async def _role(visitor: Browser) -> str | None:
    roles = (await visitor.call("GET", "/v1/me")).json()["roles"]
    return roles[0] if roles else None


@pytest.fixture
async def atoll(provider: OidcProcess) -> AsyncIterator[World]:
    async with world(auth=corp(provider)) as made:
        async with client_of(made.url, made.token) as client:
            answer = await client.post("/v1/organizations", json={"slug": "acme", "name": "Acme"})
            assert answer.status_code == 201
        yield made


async def test_login_claims_make_the_member(atoll: World, provider: OidcProcess) -> None:
    async with browser(atoll) as ada:
        me = await ada.log_in(provider, "ada", "/auth/oidc/corp/login?next=sandboxes/sb_x")
        assert (me["name"], me["org_id"], me["roles"][0]) == ("Ada", "personal", "admin")
        assert me["interactive"] and me["next"] == "sandboxes/sb_x"
        answer = await ada.call("GET", "/v1/organizations/acme/members")
        member = next(one for one in answer.json()["members"] if one["name"] == "Ada")
        assert (member["email"], member["groups"]) == ("ada@example.org", ["/dev"])


async def test_login_without_claims_may_only_accept_an_invitation(
    atoll: World, provider: OidcProcess
) -> None:
    async with browser(atoll) as eve, client_of(atoll.url, atoll.token) as owner:
        me = await eve.log_in(provider, "eve", "/auth/oidc/corp/login?next=join")
        assert (me["org_id"], me["roles"], me["next"]) == ("nobody", [], "join")
        refused = await eve.call("GET", "/v1/sandboxes")
        assert (refused.status_code, refused.json()["code"]) == (403, "no_organization")
        made = await owner.post("/v1/organizations/acme/invitations", json={"role": "viewer"})
        secret = made.json()["secret"]
        joined = await eve.call("POST", "/v1/invitations/accept", json={"secret": secret})
        assert joined.status_code == 200, joined.text
        now = (await eve.call("GET", "/v1/me")).json()
        assert (now["org_id"], now["roles"][0]) == ("personal", "viewer")
        assert (await eve.call("GET", "/v1/sandboxes")).status_code == 200


async def test_logout_ends_the_session_and_names_the_provider(
    atoll: World, provider: OidcProcess
) -> None:
    async with browser(atoll) as ada:
        await ada.log_in(provider, "ada")
        answer = await ada.call("POST", "/auth/logout")
        assert answer.json()["end_session_url"].startswith(f"{provider.issuer}/oauth2/end_session?")
        assert (await ada.call("GET", "/v1/me")).status_code == 401


async def test_roles_and_memberships_follow_the_provider(
    atoll: World, provider: OidcProcess
) -> None:
    provider.put_user("kim", name="Kim", org=["acme"], roles=["atoll-viewer"])
    async with browser(atoll) as kim:
        await kim.log_in(provider, "kim")
        assert await _role(kim) == "viewer"
        provider.put_user("kim", name="Kim Two", org=["acme"], roles=["atoll-admin"])
        await _refresh(atoll)
        assert await _role(kim) == "admin"
        assert (await kim.call("GET", "/v1/me")).json()["name"] == "Kim Two"
        provider.put_user("kim", name="Kim", org=[])
        await _refresh(atoll)
        assert await _role(kim) is None
        assert (await kim.call("GET", "/v1/sandboxes")).json()["code"] == "no_organization"


async def test_groups_are_the_providers_once_it_named_any(
    atoll: World, provider: OidcProcess
) -> None:
    provider.put_user("gus", name="Gus", org=["acme"])
    path = "/v1/organizations/acme/members"
    async with browser(atoll) as gus, client_of(atoll.url, atoll.token) as owner:
        mine = (await gus.log_in(provider, "gus"))["id"]

        async def groups() -> tuple[list[str], bool]:
            await _refresh(atoll)
            listed = (await owner.get(path)).json()["members"]
            found = next(one for one in listed if one["member_id"] == mine)
            return found["groups"], found["groups_claimed"]

        given = await owner.patch(f"{path}/{mine}", json={"groups": ["here"]})
        assert given.status_code == 200 and await groups() == (["here"], False)
        provider.put_user("gus", name="Gus", org=["acme"], groups=["/dev"])
        assert await groups() == (["/dev"], True)
        refused = await owner.patch(f"{path}/{mine}", json={"groups": []})
        assert (refused.status_code, refused.json()["code"]) == (409, "groups_claimed")
        provider.put_user("gus", name="Gus", org=["acme"])
        assert await groups() == ([], True)


async def test_login_that_the_provider_revoked_ends(atoll: World, provider: OidcProcess) -> None:
    provider.put_user("lou", name="Lou", org=["acme"])
    async with browser(atoll) as lou:
        await lou.log_in(provider, "lou")
        provider.revoke("lou")
        assert (await lou.call("GET", "/v1/me")).status_code == 200
        await _refresh(atoll)
        assert (await lou.call("GET", "/v1/me")).status_code == 401


async def test_token_that_a_busy_provider_renewed_is_used_next(
    atoll: World, provider: OidcProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that renewed the token and could not say whose it is has used the old one up."""
    provider.put_user("mia", name="Mia", org=["acme"])
    adapter, sent = _identity(atoll).refreshes._provider, list[str]()

    async def refresh(_realm: Realm, token: str, _subject: str) -> ProviderAnswer:
        sent.append(token)
        return ProviderAnswer({}, f"renewed-{len(sent)}")

    monkeypatch.setattr(adapter, "refresh", refresh)
    async with browser(atoll) as mia:
        await mia.log_in(provider, "mia")
        for _ in range(3):
            await _refresh(atoll)
        assert sent[-2:] == [f"renewed-{len(sent) - 2}", f"renewed-{len(sent) - 1}"]
        assert await _role(mia) == "member"


async def test_provider_that_asks_to_wait_is_left_alone_by_everybody(
    atoll: World, provider: OidcProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    refreshes, sent = _identity(atoll).refreshes, list[str]()
    wait: list[timedelta | None] = [timedelta(minutes=5)]

    async def refresh(_realm: Realm, token: str, subject: str) -> ProviderAnswer:
        sent.append(subject)
        if wait:
            raise ProviderBusy("not now", after=wait[0])
        return ProviderAnswer({"sub": subject, "org": ["acme"]}, token)

    async with AsyncExitStack() as stack:
        people = [await stack.enter_async_context(browser(atoll)) for _ in range(9)]
        for number, one in enumerate(people):
            provider.put_user(f"p{number}", name=f"P {number}", org=["acme"])
            await one.log_in(provider, f"p{number}")
        monkeypatch.setattr(refreshes._provider, "refresh", refresh)
        await _refresh(atoll)
        assert 0 < len(sent) <= AT_ONCE  # those that were sent before the first answer came
        for _ in range(3):
            atoll.clock.at += timedelta(minutes=1)
            assert await refreshes.refresh_due() == 0
        wait.clear()
        atoll.clock.at += timedelta(minutes=3)
        await refreshes.refresh_due()
        assert len(sent) == len(people) and len({*sent}) == len(people)
        assert [await _role(one) for one in people] == ["member"] * len(people)


async def test_token_is_sent_by_one_leader_and_its_answer_outlives_the_end_of_that_one(
    atoll: World, provider: OidcProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider ends a login whose token comes twice."""
    provider.put_user("una", name="Una", org=["acme"])
    refreshes, sent = _identity(atoll).refreshes, list[str]()
    asked, answers = asyncio.Event(), asyncio.Event()

    async def refresh(_realm: Realm, token: str, subject: str) -> ProviderAnswer:
        sent.append(token)
        asked.set()
        await answers.wait()
        return ProviderAnswer({"sub": subject, "org": ["acme"]}, f"after {token}")

    async with browser(atoll) as una:
        await una.log_in(provider, "una")
        monkeypatch.setattr(refreshes._provider, "refresh", refresh)
        atoll.clock.at += timedelta(minutes=11)
        async with asyncio.TaskGroup() as tasks:
            leader = tasks.create_task(refreshes.refresh_due())
            await asked.wait()
            # The next one leads before this one has ended.
            assert await refreshes.refresh_due() == 0
            leader.cancel()
            answers.set()
        await _refresh(atoll)
        assert sent[1:] == [f"after {sent[0]}"]
        assert await _role(una) == "member"


async def test_refresh_of_a_process_that_was_killed_is_repeated_soon(
    atoll: World, provider: OidcProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.put_user("vic", name="Vic", org=["acme"])
    refreshes, asked = _identity(atoll).refreshes, asyncio.Event()

    async def hang(_realm: Realm, _token: str, _subject: str) -> ProviderAnswer:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(task_runner, "FINISH_SECONDS", 0.0)
    async with browser(atoll) as vic:
        await vic.log_in(provider, "vic")
        atoll.clock.at += timedelta(minutes=11)
        with monkeypatch.context() as patched:
            patched.setattr(refreshes._provider, "refresh", hang)
            async with asyncio.TaskGroup() as tasks:
                killed = tasks.create_task(refreshes.refresh_due())
                await asked.wait()
                killed.cancel()
        assert await refreshes.refresh_due() == 0
        atoll.clock.at += ANSWER_TIME
        assert await refreshes.refresh_due() == 1
        assert await _role(vic) == "member"


async def test_store_that_goes_away_ends_no_refreshes(
    atoll: World, provider: OidcProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.put_user("wim", name="Wim", org=["acme"])
    refreshes = _identity(atoll).refreshes

    async def away(*_: object) -> None:
        raise StoreUnavailable("The database did not answer as it should: try again.")

    async with browser(atoll) as wim:
        await wim.log_in(provider, "wim")
        with monkeypatch.context() as patched:
            patched.setattr(refreshes, "_mark_checked", away)
            await _refresh(atoll)
        assert await _role(wim) == "member"


async def test_stopped_provider_disturbs_nobody_who_is_logged_in() -> None:
    with oidc_provider({**ADA, "org": "acme"}) as provider:
        async with world(auth=corp(provider)) as atoll:
            async with client_of(atoll.url, atoll.token) as client:
                await client.post("/v1/organizations", json={"slug": "acme", "name": "Acme"})
            async with browser(atoll) as ada, browser(atoll) as other:
                await ada.log_in(provider, "ada")
                provider.stop()
                await _refresh(atoll)
                assert await _role(ada) == "member"
                atoll.clock.at += timedelta(minutes=11)
                assert (await other.client.get("/auth/oidc/corp/login")).status_code in {302, 503}
                assert (await ada.call("GET", "/v1/sandboxes")).status_code == 200


async def test_sessions_are_listed_and_ended_with_their_connections(
    atoll: World, provider: OidcProcess
) -> None:
    async with browser(atoll) as here, browser(atoll) as there, browser(atoll) as third:
        for one in (here, there, third):
            await one.log_in(provider, "ada")
            atoll.clock.at += timedelta(seconds=1)
        listed = (await here.call("GET", "/v1/me/sessions")).json()["sessions"]
        own = [one["current"] for one in listed[-3:]]
        assert own == [True, False, False] and listed[-1]["address"] == "127.0.0.1"
        ended = await here.call("DELETE", f"/v1/me/sessions/{listed[-2]['id']}")
        assert ended.status_code == 204
        assert (await there.call("GET", "/v1/me")).status_code == 401
        async with browser(atoll) as eve:
            await eve.log_in(provider, "eve")
            missing = await eve.call("DELETE", "/v1/me/sessions/ses_x")
            foreign = await eve.call("DELETE", f"/v1/me/sessions/{listed[-1]['id']}")
            assert missing.status_code == foreign.status_code == 404
            text = foreign.json()["detail"].replace(listed[-1]["id"], "ses_x")
            assert text == missing.json()["detail"]
        key, cookies = third.headers["Atoll-Page-Key"], third.client.cookies
        async with connect(
            f"ws://{atoll.host}/v1/events/stream",
            additional_headers={"Cookie": f"atoll_session={cookies['atoll_session']}"},
            origin=atoll.url,  # type: ignore[arg-type]
            subprotocols=["atoll.page", f"atoll.key.{key}"],  # type: ignore[list-item]
        ) as socket:
            assert (await here.call("POST", "/auth/logout/everywhere")).status_code == 204
            with pytest.raises(ConnectionClosed) as closed:
                async with asyncio.timeout(5):
                    while True:
                        await socket.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == 4401
        for one in (here, third):
            assert (await one.call("GET", "/v1/me")).status_code == 401


async def test_session_ends_when_idle_and_at_its_end(atoll: World, provider: OidcProcess) -> None:
    async with browser(atoll) as used, browser(atoll) as idle:
        await used.log_in(provider, "ada")
        await idle.log_in(provider, "ada")
        for days in (2, 4, 6, 8, 10, 12):
            atoll.clock.at += timedelta(days=2)
            assert (await used.call("GET", "/v1/me")).status_code == 200
            if days == 4:
                assert (await idle.call("GET", "/v1/me")).status_code == 401
        atoll.clock.at += timedelta(days=2)
        assert (await used.call("GET", "/v1/me")).status_code == 401


ACTS = {
    "PUT /v1/me/organization": {"organization": "test_person_of_two_organizations_chooses"},
}


async def test_person_of_two_organizations_chooses(atoll: World, provider: OidcProcess) -> None:
    provider.put_user("max", name="Max", org=["acme", "beta", "gamma"], roles=["org:beta:admin"])
    async with browser(atoll) as maxi, client_of(atoll.url, atoll.token) as owner:
        beta = await owner.post("/v1/organizations", json={"slug": "beta", "name": "Beta"})
        me = await maxi.log_in(provider, "max")
        found = (await maxi.call("GET", "/v1/organizations")).json()["organizations"]
        assert {one["slug"]: one["role"] for one in found} == {"acme": "member", "beta": "admin"}
        assert me["org_id"] in {one["organization_id"] for one in found}
        chosen = await maxi.call("PUT", "/v1/me/organization", json={"organization": "beta"})
        assert chosen.status_code == 204
        now = (await maxi.call("GET", "/v1/me")).json()
        assert (now["org_id"], now["roles"][0]) == (beta.json()["organization_id"], "admin")
        for name in ("gamma", "nobody", "org_x"):
            body = {"organization": name}
            refused = await maxi.call("PUT", "/v1/me/organization", json=body)
            assert refused.status_code == 404


async def test_refusal_and_login_stand_in_the_log(atoll: World, provider: OidcProcess) -> None:
    async with browser(atoll) as ada, client_of(atoll.url, atoll.token) as owner:
        answer = await ada.client.get(provider.deny(await ada.begin()))
        assert answer.status_code == 401
        await ada.log_in(provider, "ada")
        events = (await owner.get("/v1/audit")).json()["entries"]
        kinds = [one["event_type"] for one in events]
        assert "auth.refused" in kinds and "auth.login" in kinds


async def test_login_links_of_the_installation_go_on(atoll: World) -> None:
    async with browser(atoll) as owner:
        answer = await owner.trade(await atoll.ticket())
        assert answer.json()["id"] == "person"
        assert (await owner.call("POST", "/auth/logout")).status_code == 204


async def test_realms_are_public(atoll: World) -> None:
    async with client_of(atoll.url) as anybody:
        assert (await anybody.get("/auth/realms")).json() == {
            "mode": "oidc",
            "realms": [{"realm": "corp", "name": "corp", "login_path": "/auth/oidc/corp/login"}],
        }
    async with world() as single, client_of(single.url) as anybody:
        assert (await anybody.get("/auth/realms")).json() == {"mode": "local", "realms": []}
        assert (await anybody.get("/auth/oidc/corp/login")).status_code == 404


async def test_cookies_over_tls_are_of_this_host_alone(provider: OidcProcess) -> None:
    public = "https://atoll.example"
    served = world(auth=corp(provider), public_url=public)
    async with served as atoll, client_of(atoll.url) as ada:
        begun = await ada.get("/auth/oidc/corp/login")
        cookie = begun.headers["set-cookie"]
        assert cookie.startswith("__Host-atoll_oidc=")
        assert {"Secure", "HttpOnly", "SameSite=lax", "Path=/"} <= set(cookie.split("; "))
        back = provider.confirm(begun.headers["location"], "eve")
        assert back.startswith(f"{public}/auth/oidc/corp/callback?")
        sent = {"Cookie": cookie.partition(";")[0], "Origin": public}
        ended = await ada.get(back.replace(public, atoll.url), headers=sent)
        ticket = ended.headers["location"].partition("login=")[2]
        answer = await ada.post("/auth/login", json={"ticket": ticket}, headers=sent)
        session, gone = answer.headers.get_list("set-cookie")
        assert session.startswith("__Host-atoll_session=")
        assert {"Secure", "HttpOnly", "SameSite=strict", "Path=/"} <= set(session.split("; "))
        assert gone.startswith('__Host-atoll_oidc="";') and "Max-Age=0" in gone
        key = answer.json()["page_key"]
        own = {"Cookie": session.partition(";")[0], "Origin": public, "Atoll-Page-Key": key}
        assert (await ada.get("/v1/me", headers=own)).status_code == 200
        bare = {**own, "Atoll-Page-Key": ""}
        assert (await ada.get("/v1/me", headers=bare)).status_code == 401


async def test_login_whose_grant_cannot_be_opened_ends(atoll: World, provider: OidcProcess) -> None:
    async with browser(atoll) as eve:
        await eve.log_in(provider, "eve")
        async with atoll.ground.store.begin() as rows:
            (session,) = await rows.person_sessions.due(atoll.clock.now(), 10)
            broken = Sealed("gone", b"x", b"y")
            await rows.person_sessions.checked(session.id, atoll.clock.now(), broken)
        await _refresh(atoll)
        assert (await eve.call("GET", "/v1/me")).status_code == 401
