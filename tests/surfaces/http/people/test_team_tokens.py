"""Tokens of other members: administrators see and revoke them, and never their texts."""

from typing import Any

from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World, client_of

TOKENS = "/v1/organizations/acme/tokens"


async def _made(team: Team, who: str | None, name: str) -> dict[str, Any]:
    made = await team.call(who, "POST", "/auth/pat", json={"name": name})
    assert made.status_code == 201, made.text
    shown: dict[str, Any] = made.json()
    return shown


async def _works(atoll: World, token: dict[str, Any]) -> bool:
    async with client_of(atoll.url, token["token"]) as client:
        return (await client.get("/v1/me")).is_success


async def test_administrator_revokes_the_token_of_a_member_who_is_told(atoll: World) -> None:
    team = await team_of(atoll, ann="member", adam="admin", olga="owner")
    await team.organization("elsewhere")
    await team.join("eve", OrgRole.OWNER, org="elsewhere")
    mine, other = await _made(team, "ann", "ci"), await _made(team, "ann", "nightly")
    own = await _made(team, "olga", "root")
    page = (await team.call("adam", "GET", TOKENS, params={"limit": 2})).json()
    rest = (await team.call("adam", "GET", TOKENS, params={"cursor": page["next"]})).json()
    listed = [*page["tokens"], *rest["tokens"]]
    assert {(one["owner"], one["name"]) for one in listed} == {
        *(("ann", "ci"), ("ann", "nightly"), ("olga", "root"))
    }
    assert all(text not in str(listed) for text in (mine["token"], own["token"]))

    async def revoke(who: str, token: dict[str, Any]) -> int:
        return (await team.call(who, "DELETE", f"{TOKENS}/{token['id']}")).status_code

    assert [await revoke(who, other) for who in ("ann", "eve")] == [403, 404]
    assert (await team.call("ann", "GET", TOKENS)).status_code == 403
    assert (await team.call("eve", "GET", TOKENS)).status_code == 404
    assert [await revoke("adam", one) for one in (own, mine, mine)] == [403, 204, 404]
    assert (await _works(atoll, mine), await _works(atoll, other)) == (False, True)
    assert [await revoke("olga", one) for one in (other, own)] == [204, 204]
    told = (await team.call("ann", "GET", "/v1/events?stream=auth")).json()["events"]
    ended = [one for one in told if one["event_type"] == "token.revoked"]
    assert [(one["actor"]["id"], one["payload"]["account"]) for one in ended] == [
        *(("adam", "ann"), ("olga", "ann"))
    ]
    audit = (await team.call("adam", "GET", "/v1/audit?kind=token.revoked")).json()
    assert mine["id"] in str(audit)
