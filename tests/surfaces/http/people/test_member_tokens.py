"""Tokens of members: they never exceed their owner's role, and end with the membership."""

from typing import Any

from atoll.domain.ids import OrgId, PrincipalId
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of


async def _token(team: Team, name: str | None, **body: object) -> dict[str, Any]:
    async with team.client(name) as client:
        made = await client.post("/auth/pat", json={"name": "ci", **body})
        assert made.status_code == 201, made.text
        shown: dict[str, Any] = made.json()
        return shown


async def _status(atoll: World, token: str, path: str = "/v1/me", method: str = "GET") -> int:
    async with client_of(atoll.url, token) as client:
        return (await client.request(method, path, json={})).status_code


async def _signed(atoll: World, token: str) -> str:
    async with client_of(atoll.url, token) as client:
        made = await client.post("/auth/token", json={})
        assert made.status_code == 200, made.text
        return str(made.json()["access_token"])


async def test_token_loses_what_its_owner_loses(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.join("ada", OrgRole.ADMIN)
    made = await _token(team, "ada")
    signed = await _signed(atoll, made["token"])
    for token in (made["token"], signed):
        assert await _status(atoll, token, "/v1/audit") == 200
    await team.join("ada", OrgRole.VIEWER)
    for token in (made["token"], signed):
        assert await _status(atoll, token, "/v1/audit") == 403
        assert await _status(atoll, token, "/v1/sandboxes", "POST") == 403
        assert await _status(atoll, token, "/v1/sandboxes") == 200
    # What comes back with the role comes back with it, but never more than was given.
    viewer = await _token(team, "ada")
    await team.join("ada", OrgRole.ADMIN)
    assert await _status(atoll, made["token"], "/v1/audit") == 200
    assert await _status(atoll, viewer["token"], "/v1/audit") == 403


async def test_token_of_a_member_reaches_no_tokens_of_others(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.join("ada", OrgRole.ADMIN)
    await team.join("bob")
    ada, bob = await _token(team, "ada"), await _token(team, "bob")
    async with client_of(atoll.url, bob["token"]) as client:
        listed = (await client.get("/v1/tokens")).json()["tokens"]
        foreign = await client.delete(f"/v1/tokens/{ada['id']}")
        missing = await client.delete("/v1/tokens/tok_missing")
    assert [one["id"] for one in listed] == [bob["id"]]
    assert foreign.status_code == missing.status_code == 404
    assert foreign.text.replace(ada["id"], "X") == missing.text.replace("tok_missing", "X")
    for path in ("/v1/tokens/rotate-keys", "/auth/tickets"):
        assert await _status(atoll, ada["token"], path, "POST") == 403


async def test_member_who_is_gone_leaves_no_token(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.join("boss", OrgRole.OWNER)
    await team.join("ada")
    made = await _token(team, "ada")
    signed = await _signed(atoll, made["token"])
    async with team.client("boss") as client:
        gone = await client.delete("/v1/organizations/personal/members/ada")
        assert gone.status_code in {200, 204}, gone.text
    for token in (made["token"], signed):
        assert await _status(atoll, token) == 401
    async with atoll.ground.store.read() as rows:
        assert await rows.tokens.of(OrgId("personal"), PrincipalId("ada")) == []
    # Somebody of the same name gets none of them back.
    await team.join("ada")
    for token in (made["token"], signed):
        assert await _status(atoll, token) == 401


async def test_audit_names_the_token_that_acted(atoll: World) -> None:
    team = Team(atoll)
    made = await _token(team, None)
    async with client_of(atoll.url, made["token"]) as client:
        child = (await client.post("/auth/pat", json={"name": "child"})).json()
        entries = (await client.get("/v1/audit")).json()
    assert made["id"] in str(entries) and child["token"] not in str(entries)


async def test_administrator_makes_tokens_for_a_service_account_and_nobody_else(
    atoll: World,
) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.join("boss", OrgRole.ADMIN)
    await team.join("ada")
    bot = await team.join("bot", OrgRole.MEMBER, kind=ActorKind.AUTOMATION)
    made = await _token(team, "boss", account=bot.id)
    # It has what the account may do, and no more of its maker's rights.
    assert "org.manage" not in made["capabilities"] and "sandbox.create" in made["capabilities"]
    async with client_of(atoll.url, made["token"]) as client:
        me = (await client.get("/v1/me")).json()
        assert (me["id"], me["kind"], me["interactive"]) == ("bot", "atm", False)
    for name, account in (("boss", "ada"), ("boss", "svc_missing"), ("ada", "bot")):
        refused = await team.call(name, "POST", "/auth/pat", json={"name": "x", "account": account})
        assert refused.status_code == 404, (name, account)
        assert (await team.call(name, "GET", f"/v1/tokens?account={account}")).status_code == 404
    again = await _token(team, "boss", account="Bot")
    listed = await team.call("boss", "GET", "/v1/tokens?account=Bot")
    assert {one["id"] for one in listed.json()["tokens"]} == {made["id"], again["id"]}
    foreign = await team.call("ada", "DELETE", f"/v1/tokens/{made['id']}")
    assert foreign.status_code == 404
    assert (await team.call("boss", "DELETE", f"/v1/tokens/{made['id']}")).status_code == 204
    assert await _status(atoll, made["token"]) == 401


async def test_administrator_ends_no_token_of_another_person(atoll: World) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.join("boss", OrgRole.ADMIN)
    await team.join("ada")
    made = await _token(team, "ada")
    assert (await team.call("boss", "DELETE", f"/v1/tokens/{made['id']}")).status_code == 404
    assert await _status(atoll, made["token"]) == 200
