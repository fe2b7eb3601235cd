"""Hosts over HTTP: who may, what is pinned, and where sandboxes go then."""

from typing import Any

import pytest

from atoll.domain.hosts.reading import fingerprint
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAS36OZisKD2OHSgwnvTaGeeTaqB04Tu8MCN8vpYPRQN"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPAfv5jJ1KpyAofMqQxO7w5zX2s4CmiTRvCOkPHcRAyf"
PATH = "/v1/hosts"
BOX: dict[str, Any] = {"address": "ssh://ada@box.example:2222"}

ACTS = {
    "POST /v1/hosts/{host}/trust": {
        "fingerprint": "test_changed_key_is_pinned_anew_by_its_fingerprint",
    },
    "POST /v1/hosts": {
        "address": "test_host_is_pinned_to_what_was_given_or_shown",
        "name": "test_host_is_pinned_to_what_was_given_or_shown",
        "host_key": "test_host_is_pinned_to_what_was_given_or_shown",
        "fingerprint": "test_host_is_pinned_to_what_was_given_or_shown",
        "capacity.sandboxes": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "capacity.cpu": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "capacity.memory_mb": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "overcommit": "test_overcommit_multiplies_what_is_there",
        "organization": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "profile": "test_what_is_said_of_a_host_decides_what_is_placed_there",
    },
    "POST /v1/hosts/{host}/drain": {"evacuate": "test_evacuation_says_what_stays_and_why"},
    "PATCH /v1/hosts/{host}": {
        "capacity.sandboxes": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "capacity.cpu": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "capacity.memory_mb": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "overcommit": "test_overcommit_multiplies_what_is_there",
        "organization": "test_what_is_said_of_a_host_decides_what_is_placed_there",
        "profile": "test_what_is_said_of_a_host_decides_what_is_placed_there",
    },
}


async def test_host_is_pinned_to_what_was_given_or_shown(atoll: World) -> None:
    atoll.machines.keys["box.example"] = (KEY,)
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(PATH, json=BOX)
        assert made.status_code == 201
        assert made.json()["name"] == "box"
        assert made.json()["fingerprint"] == fingerprint(KEY)
        assert "ssh-ed25519" in made.json()["authorized_key"]
        wrong = await client.post(
            PATH, json={**BOX, "name": "two", "fingerprint": fingerprint(OTHER)}
        )
        assert (wrong.status_code, wrong.json()["code"]) == (409, "host_key_changed")
        given = await client.post(PATH, json={**BOX, "name": "two", "host_key": OTHER})
        assert given.json()["fingerprint"] == fingerprint(OTHER)
        listed = (await client.get(PATH)).json()["hosts"]
        assert [one["name"] for one in listed] == ["box", "local", "two"]
        gone = await client.post(PATH, json={"address": "ssh://ada@gone.example"})
        assert gone.status_code == 503


async def test_swapped_key_is_refused_and_checked(atoll: World) -> None:
    atoll.machines.keys["box.example"] = (KEY,)
    async with client_of(atoll.url, atoll.token) as client:
        await client.post(PATH, json=BOX)
        atoll.machines.keys["box.example"] = (OTHER,)
        again = await client.post(PATH, json=BOX)
        assert (again.status_code, again.json()["code"]) == (409, "host_key_changed")
        check = (await client.post(f"{PATH}/box/check")).json()
        assert (check["reachable"], check["key_unchanged"], check["wall"]) == (True, False, False)
        assert (await client.get(f"{PATH}/box")).json()["fingerprint"] == fingerprint(KEY)


async def test_changed_key_is_pinned_anew_by_its_fingerprint(atoll: World) -> None:
    atoll.machines.keys["box.example"] = (KEY,)
    both = {"pinned": fingerprint(KEY), "shown": [fingerprint(OTHER)]}
    async with client_of(atoll.url, atoll.token) as client:
        await client.post(PATH, json=BOX)
        atoll.machines.keys["box.example"] = (OTHER,)
        bodies: tuple[dict[str, str] | None, ...] = ({}, None)
        for body in bodies:
            told = (await client.post(f"{PATH}/box/trust", json=body)).json()
            assert told == {"name": "box", **both}
        for wrong, status in ((fingerprint(KEY), 409), ("nothing", 422)):
            refused = await client.post(f"{PATH}/box/trust", json={"fingerprint": wrong})
            assert (refused.status_code, refused.json()["field"]) == (status, "fingerprint")
        named = {"fingerprint": fingerprint(OTHER)}
        told = (await client.post(f"{PATH}/box/trust", json=named)).json()
        assert told["pinned"] == fingerprint(OTHER)
        assert (await client.get(f"{PATH}/box")).json()["fingerprint"] == fingerprint(OTHER)
        assert (await client.post(f"{PATH}/box/check")).json()["key_unchanged"]
        assert (await client.post(f"{PATH}/local/trust", json={})).status_code == 409
        atoll.machines.keys.clear()
        assert (await client.post(f"{PATH}/box/trust", json={})).status_code == 503
        events = (await client.get("/v1/events?stream=hosts")).json()["events"]
        assert events[-1]["event_type"] == "host.trusted"


async def _created(client: Any, **body: object) -> tuple[int, str]:
    answer = await client.post("/v1/sandboxes", json=body)
    if answer.status_code < 300:
        shown = answer.json()
        await client.post(f"{PATH}/local/drain")
        await client.delete(f"/v1/sandboxes/{shown['sandbox_id']}?wait=true")
        await client.post(f"{PATH}/local/undrain")
        return answer.status_code, str(shown["host"])
    assert answer.json()["code"] == "no_route"
    return answer.status_code, str(answer.json()["detail"])


async def test_what_is_said_of_a_host_decides_what_is_placed_there(atoll: World) -> None:
    team = await team_of(atoll)
    await team.organization("other")
    said: list[tuple[dict[str, Any], str]] = [
        ({"capacity": {"sandboxes": 0}}, "it holds 0 sandboxes of 0"),
        ({"capacity": {"cpu": 0.5}}, "0 cores of 0.5 are taken"),
        ({"capacity": {"memory_mb": 512}}, "0 MiB of 512 are taken"),
        ({"profile": "codex"}, "it is dedicated to profile.codex"),
        ({"organization": "other"}, "it is dedicated to another organization"),
    ]
    free = {"capacity": {}, "organization": "", "profile": "", "overcommit": 1}
    async with client_of(atoll.url, atoll.token) as client:
        for number, (traits, reason) in enumerate(said):
            assert await _created(client) == (202, "local")
            changed = await client.patch(f"{PATH}/local", json=traits)
            assert changed.status_code == 200
            code, detail = await _created(client, host="local")
            assert code == 409 and reason in detail
            # A host that is added has them from the start.
            body = {**BOX, "host_key": KEY, "name": f"box-{number}", **traits}
            made = (await client.post(PATH, json=body)).json()
            for name in ("capacity", "organization", "profile"):
                assert made[name] == changed.json()[name]
            await client.delete(f"{PATH}/box-{number}")
            assert (await client.patch(f"{PATH}/local", json=free)).status_code == 200


async def test_overcommit_multiplies_what_is_there(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.patch(f"{PATH}/local", json={"capacity": {"cpu": 0.5}})
        assert (await _created(client))[0] == 409
        await client.patch(f"{PATH}/local", json={"overcommit": 2})
        assert (await _created(client))[0] == 202


async def test_drained_host_takes_nothing_until_it_is_undrained(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        drained = await client.post(f"{PATH}/local/drain")
        assert (drained.json()["state"], drained.json()["evacuation"]) == ("draining", None)
        assert "it is drained" in (await _created(client))[1]
        await client.post(f"{PATH}/local/undrain")
        assert (await _created(client))[0] == 202


async def test_evacuation_says_what_stays_and_why(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = (await client.post("/v1/sandboxes?wait=ready", json={})).json()
        for body in ({"evacuate": "yes"}, {"evacuate": True, "more": 1}):
            assert (await client.post(f"{PATH}/local/drain", json=body)).status_code == 422
        told = (await client.post(f"{PATH}/local/drain", json={"evacuate": True})).json()
        assert told["state"] == "draining"
        (staying,) = told["evacuation"]["staying"]
        assert staying["sandbox_id"] == made["sandbox_id"]
        assert told["evacuation"]["moving"] == []


async def test_host_in_use_and_this_machine_are_not_removed(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        await client.post(PATH, json={**BOX, "host_key": KEY})
        assert (await client.delete(f"{PATH}/local")).status_code == 409
        assert (await client.delete(f"{PATH}/box")).status_code == 204
        assert (await client.get(f"{PATH}/box")).status_code == 404
        events = (await client.get("/v1/events?stream=hosts")).json()["events"]
        assert [one["event_type"] for one in events] == ["host.added", "host.removed"]


async def test_only_who_runs_the_installation_sees_hosts(atoll: World) -> None:
    team = await team_of(atoll, ada="admin", mel="member")
    for who in ("ada", "mel"):
        for method, path, body in (
            ("GET", PATH, None),
            ("POST", PATH, BOX),
            ("GET", f"{PATH}/local", None),
            ("PATCH", f"{PATH}/local", {"region": "x"}),
            ("POST", f"{PATH}/local/check", None),
            ("POST", f"{PATH}/local/drain", None),
            ("DELETE", f"{PATH}/local", None),
        ):
            more = {} if body is None else {"json": body}
            assert (await team.call(who, method, path, **more)).status_code == 403


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"address": "ssh://box"},
        {**BOX, "name": "local"},
        {**BOX, "labels": {"a b": "c"}},
        {**BOX, "overcommit": 0.5},
        {**BOX, "cost_per_hour": {"micros": -1}},
        {**BOX, "capacity": {"disks": 1}},
    ],
)
async def test_wrong_body_is_invalid_and_adds_nothing(atoll: World, body: dict[str, Any]) -> None:
    atoll.machines.keys["box.example"] = (KEY,)
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.post(PATH, json=body)).status_code == 422
        assert len((await client.get(PATH)).json()["hosts"]) == 1
