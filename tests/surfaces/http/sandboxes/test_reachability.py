"""Reachability over HTTP: what answers say of the ways to a sandbox, and what a profile names."""

from typing import Any

import pytest

from atoll.services.library.settings import ReachabilityEntry, ReachabilitySettings
from tests.surfaces.http.world import World, client_of, world

ENTRIES = ReachabilitySettings(
    tunnels={"ops-bridge": ReachabilityEntry("wireguard", "https://bridge.example")},
    identities={"ops-warden": ReachabilityEntry("oidc", "https://warden.example")},
)


def _document(**named: str) -> dict[str, Any]:
    return {
        "id": "profile.reached",
        "version": "1.0.0",
        "extension": "ext.namespaces",
        "reachability": named,
    }


async def test_create_and_show_say_how_a_sandbox_is_reached(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = (await client.post("/v1/sandboxes?wait=ready", json={})).json()
        url = f"/v1/sandboxes/{made['sandbox_id']}"
        shown = (await client.get(made["reachability"]["poll_url"])).json()
        events = (await client.get(made["reachability"]["events_url"])).json()["events"]
        (listed,) = (await client.get("/v1/sandboxes")).json()["sandboxes"]
    reachability = made["reachability"]
    assert (reachability["runtime"], reachability["poll_url"]) == (url, url)
    assert (reachability["tunnel"], reachability["identity"]) == (None, None)
    assert (reachability["ssh"], made["metadata"]["ssh_mode"]) == (None, "gateway")
    assert shown["reachability"] == listed["reachability"] == reachability
    assert {event["stream"] for event in events} == {f"sandbox:{made['sandbox_id']}"}
    assert events[0]["event_type"] == "sandbox.requested"


async def test_profile_names_a_tunnel_and_an_identity_of_the_settings() -> None:
    async with world(reachability=ENTRIES) as atoll, client_of(atoll.url, atoll.token) as client:
        document = _document(tunnel="ops-bridge", identity="ops-warden")
        saved = await client.put("/v1/profiles/reached", json=document)
        assert saved.status_code == 200, saved.text
        body = {"profile": "reached"}
        made = (await client.post("/v1/sandboxes?wait=ready", json=body)).json()
    assert made["state"] == "ready"
    assert made["reachability"]["tunnel"] == {"kind": "wireguard", "url": "https://bridge.example"}
    assert made["reachability"]["identity"] == {"kind": "oidc", "url": "https://warden.example"}


@pytest.mark.parametrize(
    ("named", "field"),
    [
        ({"tunnel": "ops-warden"}, "reachability.tunnel"),
        ({"tunnel": "ops-bridge", "identity": "ops-bridge"}, "reachability.identity"),
    ],
)
async def test_name_that_no_setting_has_is_refused_where_it_is_written(
    named: dict[str, str], field: str
) -> None:
    async with world(reachability=ENTRIES) as atoll, client_of(atoll.url, atoll.token) as client:
        saved = await client.put("/v1/profiles/reached", json=_document(**named))
        gone = await client.get("/v1/profiles/reached")
    problem = saved.json()
    assert (saved.status_code, problem["code"], problem["field"]) == (422, "invalid", field)
    assert "name one of them" in problem["detail"]
    assert gone.status_code == 404


async def test_entry_that_the_settings_lost_refuses_a_create_and_is_null_for_what_stands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with world(reachability=ENTRIES) as atoll, client_of(atoll.url, atoll.token) as client:
        document = _document(tunnel="ops-bridge", identity="ops-warden")
        await client.put("/v1/profiles/reached", json=document)
        made = (await client.post("/v1/sandboxes", json={"profile": "reached"})).json()
        monkeypatch.setattr(atoll.services.profiles, "reachability", ReachabilitySettings())
        shown = (await client.get(made["poll_url"])).json()
        refused = await client.post("/v1/sandboxes", json={"profile": "reached"})
        explained = await client.post("/v1/routes/explain", json={"profile": "reached"})
        profile = (await client.get("/v1/profiles/reached")).json()
    assert (shown["reachability"]["tunnel"], shown["reachability"]["identity"]) == (None, None)
    for answer in (refused, explained):
        assert (answer.status_code, answer.json()["field"]) == (422, "reachability.tunnel")
    assert "reachability.tunnel" in profile["obstacle"]
