"""Routes of the work in sandboxes: its state, reviews, the archive."""

from typing import Any

import httpx

from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

ACTS = {
    "POST /v1/sandboxes/{sandbox}/review": {
        "mark": "test_review_is_of_the_work_that_was_seen",
        "reviewed": "test_review_is_of_the_work_that_was_seen",
    },
}
BASE = "/v1/sandboxes/box"


async def made(client: httpx.AsyncClient, **body: Any) -> dict[str, Any]:
    answer = await client.post("/v1/sandboxes?wait=ready", json={"name": "box", **body})
    assert answer.status_code == 201, answer.text
    view: dict[str, Any] = answer.json()
    return view


async def test_plain_shell_has_no_work_to_review(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await made(client))["work"] is None
        refused = await client.post(f"{BASE}/review", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "no_work")


async def test_review_is_of_the_work_that_was_seen(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await made(client, agent="codex", prompt="Mend the login")
        work = (await client.get(BASE)).json()["work"]
        stale = await client.post(f"{BASE}/review", json={"mark": "f" * 64})
        done = await client.post(f"{BASE}/review", json={"mark": work["mark"]})
        back = await client.post(f"{BASE}/review", json={"reviewed": False})
    assert (stale.status_code, stale.json()["code"]) == (409, "changed")
    assert done.json()["work"]["reviewed_at"] is not None
    assert back.json()["work"]["reviewed_at"] is None


async def test_archived_sandbox_stops_leaves_the_list_and_comes_back(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await made(client)
        archived = await client.post(f"{BASE}/archive?wait=true")
        again = await client.post(f"{BASE}/archive")
        refused = await client.post(f"{BASE}/start")
        lists = [
            [one["name"] for one in (await client.get(f"/v1/sandboxes{query}")).json()["sandboxes"]]
            for query in ("", "?archived=false", "?archived=true")
        ]
        revived = await client.post(f"{BASE}/revive?wait=true")
    assert (archived.status_code, archived.json()["state"]) == (202, "stopped")
    assert archived.json()["work"]["state"] == "archived"
    assert again.json()["archived_at"] == archived.json()["archived_at"]
    assert (refused.status_code, refused.json()["code"]) == (409, "archived")
    assert lists == [["box"], [], ["box"]]
    assert (revived.json()["state"], revived.json()["archived_at"]) == ("ready", None)


async def test_acts_on_the_work_of_another_person_are_not_found(atoll: World) -> None:
    team = await team_of(atoll, ada="member", bob="member")
    async with team.client("ada") as ada, team.client("bob") as bob:
        made_by_ada = await ada.post("/v1/sandboxes?wait=ready", json={"name": "hers"})
        base = f"/v1/sandboxes/{made_by_ada.json()['sandbox_id']}"
        answers = [
            (await bob.post(f"{base}/{act}", json=body)).status_code
            for act, body in (("review", {}), ("merge", {}), ("archive", None), ("revive", None))
        ]
    assert answers == [404] * 4
