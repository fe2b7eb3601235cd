"""Routes over HTTP: where sandboxes go, why there, and who may say so."""

from typing import Any

import pytest

from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

PATH = "/v1/routes"
ACTS = {
    "PUT /v1/routes/default": {
        "scope": "test_default_route_counts",
        "allow": "test_default_route_counts",
        "default.strategy": "test_default_route_counts",
        "default.extensions": "test_default_route_counts",
        "default.fallback": "test_default_route_counts",
        "default.constraints.max_cost_per_hour.micros": "test_default_route_counts",
        "default.constraints.max_cost_per_hour.currency": "test_default_route_counts",
        "default.constraints.require_isolation": "test_default_route_counts",
        "default.constraints.region": "test_default_route_counts",
        "default.constraints.gpu": "test_default_route_counts",
        "default.constraints.max_ready_ms": "test_default_route_counts",
        "default.constraints.min_success": "test_default_route_counts",
        "default.constraints.execution_mode": "test_default_route_counts",
    },
}


async def test_decision_is_explained_stored_and_shown(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        told = (await client.post(f"{PATH}/explain", json={"profile": "shell"})).json()
        assert told["chosen"]["host"] == "local"
        made = (await client.post("/v1/sandboxes", json={})).json()
        found = (await client.get(f"{PATH}/{made['route']}")).json()
        assert {name: found[name] for name in told} == told
        assert found["sandbox_id"] == made["sandbox_id"]
        assert found["moves"] == []
        assert made["extension"] == found["chosen"]["extension"]
        assert (await client.get(f"{PATH}/rt_none")).status_code == 404
        for body in ({"profile": "none"}, {"profile_version": "9.9.9"}):
            assert (await client.post(f"{PATH}/explain", json=body)).status_code == 404
        assert "places" in (await client.get(f"{PATH}/health")).json()


LIMITS: list[dict[str, Any]] = [
    {"max_cost_per_hour": {"micros": 1, "currency": "EUR"}},
    {"require_isolation": "microvm"},
    {"region": "mars"},
    {"gpu": "h100"},
    {"max_ready_ms": 1},
    {"min_success": 0.5},
    {"execution_mode": "desktop"},
]


async def test_every_limit_narrows_and_its_reason_is_told(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        wanted: list[dict[str, Any]] = [{"host": "elsewhere"}, {"route": {"extension": "ext.x"}}]
        for body in wanted + [{"route": limits} for limits in LIMITS]:
            told = (await client.post(f"{PATH}/explain", json=body)).json()
            assert told["chosen"] is None, body
            assert all(one["reasons"] for one in told["candidates"])
            refused = await client.post("/v1/sandboxes", json=body)
            assert refused.status_code == 409
            assert refused.json()["code"] == "no_route"
            assert told["candidates"][0]["reasons"][0] in refused.json()["detail"]
            parts = ("extension", "host", "region", "reasons")
            wanted_places = [{part: one[part] for part in parts} for one in told["candidates"]]
            assert refused.json()["candidates"] == wanted_places
        odd = await client.post(f"{PATH}/explain", json={"route": {"strategy": "explicit"}})
        assert (odd.status_code, odd.json()["field"]) == (422, "route.extension")


async def test_what_decides_the_place_is_explained_as_it_is_created(atoll: World) -> None:
    both = {"compose_bundle": "services: {}", "compose_bundle_ref": "repo:compose.yaml"}
    wanted: list[dict[str, Any]] = [
        {"mounts": [{"source": "/nowhere", "target": "/data"}]},
        {"inputs": both},
        {"inputs": {"compose_bundle_ref": "repo:nosuch.yaml"}},
        {"inputs": {"compose_bundle_ref": "nosuch.yaml"}},
        {"inputs": {"compose_bundle": "services: {web: {image: nginx}}"}},
        {"inputs": {"repo_ref": "ext::sh"}},
        {"network_mode": "everything"},
    ]
    async with client_of(atoll.url, atoll.token) as client:
        for body in wanted:
            told = await client.post(f"{PATH}/explain", json=body)
            refused = await client.post("/v1/sandboxes", json=body)
            assert told.status_code == refused.status_code, (body, told.text)
            assert told.json()["field"] == refused.json()["field"], body
            assert "Extra inputs" not in told.text
        placed = await client.post(f"{PATH}/explain", json={"network_mode": "none"})
        assert placed.json()["chosen"]["host"] == "local"


async def test_default_route_counts(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        usual = (await client.get(f"{PATH}/default")).json()
        assert usual["organization"] == usual["installation"] == {"default": None, "allow": None}
        effective = usual["effective"]
        assert effective["strategy"] == "prefer-self-hosted"
        assert effective["extensions"] == effective["fallback"] == []
        name = (await client.post(f"{PATH}/explain", json={})).json()["chosen"]["extension"]
        narrow: list[dict[str, Any]] = [
            {"max_cost_per_hour": {"micros": 1, "currency": "EUR"}},
            {"require_isolation": "microvm"},
            {"region": "mars"},
            {"gpu": "h100"},
            {"max_ready_ms": 1},
            {"min_success": 0.5},
            {"execution_mode": "desktop"},
        ]
        closed: list[dict[str, Any]] = [
            {"allow": ["ext.desktop"]},
            {"default": {"extensions": ["ext.desktop"]}},
            {"default": {"fallback": ["ext.desktop"]}},
            *({"default": {"extensions": [name], "constraints": one}} for one in narrow),
        ]
        for scope in ("organization", "installation"):
            for rules in closed:
                put = await client.put(f"{PATH}/default", json={"scope": scope, **rules})
                assert put.status_code == 200
                assert (await client.post(f"{PATH}/explain", json={})).json()["chosen"] is None
            cheap = {"default": {"strategy": "lowest-cost", "extensions": [name]}}
            shown = await client.put(f"{PATH}/default", json={"scope": scope, **cheap})
            assert shown.json()["effective"]["strategy"] == "lowest-cost"
            assert (await client.post(f"{PATH}/explain", json={})).json()["chosen"] is not None
            await client.put(f"{PATH}/default", json={"scope": scope})
        assert (await client.get(f"{PATH}/default")).json() == usual
        events = (await client.get("/v1/events?stream=routes")).json()["events"]
        assert {one["event_type"] for one in events} == {"route.changed"}


async def test_named_extension_is_chosen_among_all_that_are_on_where_the_profile_names_none(
    atoll: World,
) -> None:
    """A default route names those of whoever names none; what is not allowed stays out."""
    async with client_of(atoll.url, atoll.token) as client:
        name = (await client.post(f"{PATH}/explain", json={})).json()["chosen"]["extension"]
        named = {"route": {"extension": name}}
        for scope in ("organization", "installation"):
            default: dict[str, Any] = {
                "extensions": ["ext.desktop"],
                "constraints": {"gpu": "h100"},
            }
            await client.put(f"{PATH}/default", json={"scope": scope, "default": default})
            told = (await client.post(f"{PATH}/explain", json=named)).json()
            (judged,) = told["candidates"]
            assert (judged["extension"], judged["reasons"]) == (name, ["it has no GPU h100"])
            default["constraints"] = {}
            await client.put(f"{PATH}/default", json={"scope": scope, "default": default})
            assert (await client.post("/v1/sandboxes", json={})).json()["code"] == "no_route"
            made = await client.post("/v1/sandboxes", json=named)
            assert made.status_code == 202 and made.json()["extension"] == name
            rules = {"scope": scope, "default": default, "allow": ["ext.desktop"]}
            await client.put(f"{PATH}/default", json=rules)
            refused = (await client.post("/v1/sandboxes", json=named)).json()
            assert "it is not allowed here" in refused["detail"]
            await client.put(f"{PATH}/default", json={"scope": scope})


@pytest.mark.parametrize(
    "body",
    [
        {"allow": ["UP"]},
        {"allow": ["desktop", "nmaespaces"]},
        {"default": {"strategy": "explicit"}},
        {"default": {"extensions": ["ext.a"], "fallback": ["ext.b"]}},
    ],
)
async def test_rules_that_mean_nothing_are_refused(atoll: World, body: dict[str, Any]) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.put(f"{PATH}/default", json=body)).status_code == 422


async def test_routes_of_others_are_not_there_and_members_set_none(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    made = (await team.call("ada", "POST", "/v1/sandboxes", json={})).json()
    assert (await team.call("ada", "PUT", f"{PATH}/default", json={})).status_code == 200
    for who, method, path, body, status in (
        ("ada", "PUT", "default", {"scope": "installation"}, 403),
        ("ada", "GET", "health", None, 403),
        ("ada", "GET", made["route"], None, 200),
        ("mel", "GET", made["route"], None, 404),
        ("mel", "PUT", "default", {}, 403),
        ("mel", "GET", "default", None, 200),
    ):
        more = {} if body is None else {"json": body}
        assert (await team.call(who, method, f"{PATH}/{path}", **more)).status_code == status
