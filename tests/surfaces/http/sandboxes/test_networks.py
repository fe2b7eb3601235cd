"""A sandbox's network and safety layers over HTTP."""

from typing import Any

import httpx
import pytest

from tests.surfaces.http.world import World, client_of


async def _sandbox(client: httpx.AsyncClient, **body: object) -> str:
    made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "python", **body})
    assert made.status_code == 201, made.text
    return f"/v1/sandboxes/{made.json()['sandbox_id']}"


async def test_network_of_a_sandbox_shows_its_profiles_rules(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        told = (await client.get(await _sandbox(client) + "/network")).json()
        assert (told["mode"], told["egress"], told["allowed"]) == ("limited", ["pypi"], [])
        assert told["rules"][0] == {
            "host": "pypi.org",
            "ports": [443],
            "methods": [],
            "paths": [],
            "origin": "preset:pypi",
        }


async def test_switch_is_stored_told_to_the_log_and_kept_by_what_follows(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        place = await _sandbox(client)
        change = {"mode": "full", "allow": ["B.example:8443"], "deny": ["pypi.org"]}
        for _ in range(2):  # repeating changes nothing
            told = (await client.put(f"{place}/network", json=change)).json()
            assert (told["mode"], told["allowed"], told["denied"]) == (
                "full", ["B.example:8443"], ["pypi.org"],
            )  # fmt: skip
        assert (await client.get(place)).json()["network_mode"] == "full"
        events = (await client.get("/v1/events?limit=1000")).json()["events"]
        switched = [one for one in events if one["event_type"] == "network.switched"]
        assert [one["payload"]["denied"] for one in switched] == [["pypi.org"]]
        forgotten = {"forget": ["B.example:8443", "pypi.org"], "mode": "limited"}
        told = (await client.put(f"{place}/network", json=forgotten)).json()
        assert (told["allowed"], told["denied"]) == ([], [])


@pytest.mark.parametrize(
    "body",
    [
        {"allow": ["*.com"]},
        {"allow": ["10.0.0.1"]},
        {"allow": ["preset:nothing"]},
        {"deny": ["exa mple"]},
        {"mode": "open"},
        {"host_ports": [0]},
        {"host_ports": ["80"]},
        {"ranges": ["0.0.0.0/0"]},
        {"ranges": ["169.254.0.0/16"]},
        {"egress": ["a.example"]},
        {"allow": "a.example"},
    ],
)
async def test_change_that_opens_too_much_is_refused_whole(
    atoll: World, body: dict[str, Any]
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        place = await _sandbox(client)
        answer = await client.put(f"{place}/network", json={"mode": "none", **body})
        assert answer.status_code == 422, answer.text
        assert answer.json()["field"]
        assert (await client.get(f"{place}/network")).json()["mode"] == "limited"


async def test_network_of_a_destroyed_sandbox_cannot_be_switched(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        place = await _sandbox(client)
        await client.post(f"{place}/destroy?wait=true")
        assert (await client.put(f"{place}/network", json={"mode": "none"})).status_code == 409


async def test_nobody_without_credential_reads_or_switches(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        place = await _sandbox(client)
    async with client_of(atoll.url) as client:
        assert (await client.get(f"{place}/network")).status_code == 401
        assert (await client.put(f"{place}/network", json={"mode": "full"})).status_code == 401
        assert (await client.get(f"{place}/safety")).status_code == 401


async def test_safety_layers_of_a_sandbox_are_told_by_number(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        told = (await client.get(await _sandbox(client) + "/safety")).json()
        assert [one["number"] for one in told["layers"]] == [1, 2, 3, 4, 5, 6]
        assert [one["number"] for one in told["layers"] if not one["in_force"]] == [1, 3, 4]
