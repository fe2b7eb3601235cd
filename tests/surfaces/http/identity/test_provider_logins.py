"""Logins at a real provider: the way there and back, what claims make of somebody, log-outs."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.peers.oidc_provider import OidcProcess, oidc_provider
from tests.surfaces.http.identity.browsers import browser, corp
from tests.surfaces.http.world import World, client_of, world

ADA = {"sub": "ada", "name": "Ada", "email": "ada@example.org", "email_verified": True}


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProcess]:
    with oidc_provider(
        {**ADA, "org": ["acme"], "roles": ["atoll-admin"], "groups": ["/dev"]},
        {"sub": "eve", "name": "Eve"},
    ) as found:
        yield found


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
