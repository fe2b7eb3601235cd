from typing import Any

import pytest

from tests.surfaces.http.world import World, client_of

KEY = "sk-canary-A1b2C3d4E5"
BODY = {"name": "K", "value": KEY, "kind": "provider", "provider": "openai"}


async def test_secret_goes_in_and_never_comes_out(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/secrets", json=BODY)
        again = await client.post("/v1/secrets", json=BODY)
        same = await client.put(
            "/v1/secrets/K", json={k: v for k, v in BODY.items() if k != "name"}
        )
        newer = await client.post("/v1/secrets/K/rotate", json={"value": KEY + "9"})
        one = await client.get("/v1/secrets/K")
        listed = await client.get("/v1/secrets")
        events = await client.get("/v1/events")
        gone = await client.delete("/v1/secrets/K")
        absent = await client.get("/v1/secrets/K")
    assert (made.status_code, again.status_code, same.status_code) == (201, 409, 200)
    assert same.json() == made.json()
    assert made.json()["last4"] == "d4E5"
    assert newer.json()["version"] == 2
    assert one.json() == newer.json() == listed.json()["secrets"][0]
    assert (gone.status_code, absent.status_code) == (204, 404)
    for answer in (made, again, same, newer, one, listed, events):
        assert KEY not in answer.text + str(answer.headers)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"value": "password"}, "value"),
        ({"value": KEY + "\n" + KEY}, "value"),
        ({"value": 5}, "value"),
        ({"value": KEY * 9000}, "value"),
        ({"name": "../x"}, "name"),
        ({"kind": "custom", "slot": "cookie"}, "slot"),
        ({"kind": "custom", "provider": None, "hosts": ["http://x"]}, "hosts"),
        ({"kind": "env", "provider": None, "env": "A"}, "broker_protected"),
        ({"provider": "nobody"}, "provider"),
        ({"kind": "env", "env": "A", "broker_protected": False}, "provider"),
        ({"scope": "sandbox:nothing"}, "scope"),
        ({"extra": KEY}, "extra"),
    ],
)
async def test_wrong_secret_is_refused_without_its_value(
    atoll: World, change: dict[str, Any], field: str
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/secrets", json={**BODY, **change})
    assert answer.status_code == 422
    assert answer.json()["field"] == field
    assert KEY not in answer.text and "password" not in answer.text


async def test_custom_secret_shows_its_hosts_in_one_spelling(atoll: World) -> None:
    body = {"value": KEY, "hosts": ["API.Example.com", "api.example.com:443", "x.example:8443"]}
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.put("/v1/secrets/MINE", json=body)
    assert answer.json()["hosts"] == ["api.example.com", "x.example:8443"]


async def test_master_key_of_elsewhere_cannot_be_turned_over(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/vault/rotate-master")
    assert answer.status_code == 409


async def test_stranger_gets_no_secret(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        for method, path in (("GET", ""), ("POST", ""), ("PUT", "/K"), ("DELETE", "/K")):
            answer = await client.request(method, f"/v1/secrets{path}", json=BODY)
            assert answer.status_code == 401


async def test_sandbox_says_whose_values_are_inside(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={})
    assert made.json()["exposed_secrets"] == []


LOOKS_LIKE = "\u0430pi.openai.com"  # begins with a Cyrillic letter


@pytest.mark.parametrize("host", [LOOKS_LIKE, "xn--pi-6kc.openai.com"])
async def test_look_alike_host_is_refused_in_both_spellings_until_a_person_read_them(
    atoll: World, host: str
) -> None:
    body = {"name": "K", "value": KEY, "hosts": [host]}
    async with client_of(atoll.url, atoll.token) as client:
        refused = await client.post("/v1/secrets", json=body)
        changed = await client.put("/v1/secrets/K", json={"value": KEY, "hosts": [host]})
        plain = await client.post("/v1/secrets", json={**body, "hosts": ["api.openai.com"]})
        meant = await client.put(
            "/v1/secrets/K", json={"value": KEY, "hosts": [host], "look_alike": True}
        )
    for answer in (refused, changed):
        assert (answer.status_code, answer.json()["code"]) == (422, "look_alike_host")
        assert LOOKS_LIKE in answer.json()["detail"]
        assert "xn--pi-6kc.openai.com" in answer.json()["detail"]
    assert plain.status_code == 201
    assert meant.json()["hosts"] == ["xn--pi-6kc.openai.com"]
