"""Dashboards whose owner leaves, or gives them away."""

from datetime import timedelta
from typing import Any

from atoll.domain.dashboards.owner import WAITS
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.world import World

ACTS = {
    "POST /v1/dashboards/{dashboard}/owner": {
        "member": "test_dashboard_is_given_to_another_member_by_its_owner_alone"
    },
}
MEMBERS = "/v1/organizations/acme/members"
WAITING = "/v1/organizations/acme/waiting-dashboards"


async def _made(team: Team, who: str, name: str, scope: str = "private") -> str:
    body = {"name": name, "scope": scope}
    made = await team.call(who, "POST", "/v1/dashboards", json=body)
    assert made.status_code == 201, made.text
    return f"/v1/dashboards/{made.json()['id']}"


async def _seen(team: Team, who: str) -> dict[str, str]:
    listed = (await team.call(who, "GET", "/v1/dashboards")).json()["dashboards"]
    return {one["name"]: one["role"] for one in listed}


async def _waiting(team: Team) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await team.call("adam", "GET", WAITING)).json()["dashboards"]
    return found


async def test_dashboard_is_given_to_another_member_by_its_owner_alone(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vic="viewer", adam="admin")
    place = await _made(team, "ann", "Plan", "shared")

    async def give(who: str, member: str) -> int:
        path = f"{place}/owner"
        return (await team.call(who, "POST", path, json={"member": member})).status_code

    assert [await give(who, "bob") for who in ("bob", "vic", "adam")] == [403, 403, 403]
    assert [await give("ann", who) for who in ("vic", "nobody", "ann", "Bob")] == [
        *(409, 404, 204, 204)
    ]
    assert (await _seen(team, "bob"), await _seen(team, "ann")) == (
        {"Plan": "owner"}, {"Plan": "editor"}
    )  # fmt: skip
    history = await team.call("bob", "GET", f"/v1/events?stream=dashboard:{place[15:]}")
    told = history.json()["events"][-1]
    assert (told["event_type"], told["payload"]["from"]) == ("dashboard.given", "ann")
    assert await _waiting(team) == []


async def test_dashboard_is_shared_with_a_member_by_name_and_with_nobody_who_is_none(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", bob="member")
    place = await _made(team, "ann", "Plan")

    async def share(method: str, subject: str) -> int:
        body = {"json": {"role": "viewer"}} if method == "PUT" else {}
        answer = await team.call("ann", method, f"{place}/people/{subject}", **body)
        return answer.status_code

    assert [await share("PUT", who) for who in ("Bob", "nobody", "group:web")] == [200, 404, 404]
    grouped = await team.call(None, "PATCH", f"{MEMBERS}/ann", json={"groups": ["web"]})
    assert (grouped.status_code, await share("PUT", "group:web")) == (200, 200)
    assert await _seen(team, "bob") == {"Plan": "viewer"}
    assert await share("DELETE", "Bob") < 300 and await share("DELETE", "nobody") < 300
    assert await _seen(team, "bob") == {}


async def test_dashboards_of_who_leaves_go_to_their_editors_or_wait_for_an_administrator(
    atoll: World,
) -> None:
    team = await team_of(atoll, ann="member", bob="member", adam="admin")
    edited = await _made(team, "ann", "Edited")
    await team.call("ann", "PUT", f"{edited}/people/bob", json={"role": "editor"})
    await _made(team, "ann", "Shared", "shared")
    taken = await _made(team, "ann", "Taken")
    await _made(team, "ann", "Forgotten")
    assert (await team.call("adam", "DELETE", f"{MEMBERS}/ann")).status_code == 204
    assert (await _seen(team, "bob"))["Edited"] == "owner"
    roles = [(await _seen(team, who))["Shared"] for who in ("bob", "adam")]
    assert roles == ["editor", "owner"]
    waits = await _waiting(team)
    assert [(one["name"], one["owner"]) for one in waits] in (
        [("Taken", "ann"), ("Forgotten", "ann")],
        [("Forgotten", "ann"), ("Taken", "ann")],
    )
    assert (await team.call("bob", "GET", WAITING)).status_code == 403
    assert (await team.call("adam", "GET", taken)).status_code == 404
    give = await team.call("bob", "POST", f"{taken}/owner", json={"member": "bob"})
    assert give.status_code == 404
    give = await team.call("adam", "POST", f"{taken}/owner", json={"member": "adam"})
    assert give.status_code == 204
    assert (await _seen(team, "adam"))["Taken"] == "owner"

    sweep = atoll.services.dashboards.sweep
    await sweep.sweep()
    assert [one["name"] for one in await _waiting(team)] == ["Forgotten"]
    atoll.clock.at += WAITS + timedelta(seconds=1)
    await sweep.sweep()
    assert await _waiting(team) == []
    assert set(await _seen(team, "adam")) == {"Shared", "Taken"}
