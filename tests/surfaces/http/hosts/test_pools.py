"""Pools over HTTP: who may set one, what it shows, and what a create takes of it."""

from dataclasses import replace

import httpx

from atoll.domain.hosts.host import LOCAL_HOST, Capacity
from atoll.wire.words.hosts import MAX_POOLED
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

PATH = "/v1/pools"
BACKEND = "ext.namespaces"
JSON = {"Content-Type": "application/json"}

ACTS = {
    "PUT /v1/pools/{profile}": {
        "min": "test_create_takes_what_waits_in_its_pool",
        "max": "test_create_takes_what_waits_in_its_pool",
        "idle": "test_create_takes_what_waits_in_its_pool",
    },
}


async def test_create_takes_what_waits_in_its_pool(atoll: World) -> None:
    upkeep = atoll.services.backends.pools.upkeep
    async with client_of(atoll.url, atoll.token) as client:
        sized = await client.put(f"{PATH}/shell", json={"min": 1, "max": 3, "idle": "1m"})
        assert sized.status_code == 200, sized.text
        assert numbers(sized) == {"min": 1, "max": 3, "idle": 60, "ready": 0, "building": 0}
        await upkeep.look()
        assert numbers(await client.get(f"{PATH}/profile.shell"))["ready"] == 1
        async with atoll.ground.store.read() as rows:
            waiting = {each.id for each in await rows.pooled.everything()}
        made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})
        assert {made.json()["sandbox_id"]} == waiting
        while await upkeep.look() == 0:
            pass
        (listed,) = (await client.get(PATH)).json()["pools"]
        assert (listed["ready"], listed["taken"], listed["missed"]) == (3, 1, 0)
        assert listed["trouble"] is None
        assert (await client.delete(f"{PATH}/shell")).status_code == 204
        assert (await client.get(f"{PATH}/shell")).status_code == 404
        events = (await client.get("/v1/events?stream=org:personal")).json()["events"]
        assert [one["event_type"] for one in events][-2:] == ["pool.set", "pool.removed"]


def numbers(answer: httpx.Response) -> dict[str, int]:
    names = ("min", "max", "idle", "ready", "building")
    return {name: answer.json()[name] for name in names}


async def test_sizes_that_cannot_be_are_refused_by_their_field(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        for body, field in (
            ({"min": 3, "max": 2}, "min"),
            ({"max": 0}, "max"),
            ({"max": 201}, "max"),
            ({"min": -1}, "min"),
            ({"idle": "1s"}, "idle"),
            ({"idle": "8d"}, "idle"),
        ):
            refused = await client.put(f"{PATH}/shell", json=body)
            assert (refused.status_code, refused.json()["field"]) == (422, field), body
        missing = await client.put(f"{PATH}/nothing", json={})
        assert missing.status_code == 404
        assert (await client.delete(f"{PATH}/shell")).status_code == 404


async def test_pools_beyond_what_may_be_are_refused_by_their_code(atoll: World) -> None:
    """All pools together are `429 limit_reached`, a host without room is `409`, and what no pool
    can be is `422`; `413` is a body that is too large."""
    async with client_of(atoll.url, atoll.token) as client:
        most = atoll.services.backends.pools.pools._most
        assert most == MAX_POOLED
        for count in range(2):
            document = {"id": f"profile.p{count}", "version": "1.0.0", "extension": BACKEND}
            saved = await client.put(f"/v1/profiles/p{count}", json=document)
            assert saved.status_code == 200, saved.text
        assert (await client.put(f"{PATH}/p0", json={"max": most - 1})).status_code == 200
        beyond = await client.put(f"{PATH}/p1", json={"max": 2})
        assert (beyond.status_code, beyond.json()["code"]) == (429, "limit_reached")
        assert (beyond.json()["field"], "max_pooled" in beyond.json()["detail"]) == ("max", True)
        assert (await client.get(f"{PATH}/p1")).status_code == 404
        assert (await client.put(f"{PATH}/p1", json={"max": 1})).status_code == 200
        # Where the setting allows it, too, one pool holds no more.
        alone = await client.put(f"{PATH}/p1", json={"max": most + 1})
        assert (alone.status_code, alone.json()["field"]) == (422, "max")
        large = await client.put(f"{PATH}/p1", content=b" " * (2 << 20), headers=JSON)
        assert (large.status_code, large.json()["code"]) == (413, "too_large")
        async with atoll.ground.store.begin() as rows:
            await rows.hosts.put(replace(LOCAL_HOST, capacity=Capacity(sandboxes=0)))
        full = await client.put(f"{PATH}/p0", json={"max": 1})
        assert (full.status_code, full.json()["code"]) == (409, "no_route")


async def test_only_administrators_set_pools(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    assert (await team.call("mel", "PUT", f"{PATH}/shell", json={})).status_code == 403
    assert (await team.call("ada", "PUT", f"{PATH}/shell", json={})).status_code == 200
    assert (await team.call("mel", "DELETE", f"{PATH}/shell")).status_code == 403
    assert (await team.call("mel", "GET", f"{PATH}/shell")).status_code == 200
    assert (await team.call("ada", "DELETE", f"{PATH}/shell")).status_code == 204
