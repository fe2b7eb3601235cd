"""Sandboxes over HTTP: requests, waiting, pages, keys, and inputs that are refused."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from atoll.ports.extension import MissingExtension
from atoll.wire.api.sandboxes.views import SandboxView
from tests.surfaces.http.world import World, client_of, world


async def _made(client: httpx.AsyncClient, **request: Any) -> dict[str, Any]:
    answer = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell", **request})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_create_without_waiting_answers_202_and_says_where_to_look(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/sandboxes", json={"profile": "shell"})
        assert answer.status_code == 202
        assert answer.headers["location"] == answer.json()["poll_url"]
        found = await client.get(answer.json()["poll_url"], params={"wait": "ready"})
    assert found.json()["state"] == "ready"


async def test_create_waited_for_answers_201_in_the_documented_shape(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _made(client, name="one", ttl="2h", env={"A": "b"})
    assert msgspec.to_builtins(msgspec.convert(made, SandboxView)) == made
    assert (made["state"], made["name"]) == ("ready", "one")
    assert made["isolation"]["degraded"] == ["memory: no cgroup"]
    assert made["created_at"].endswith("Z")


async def test_create_by_prefer_header_waits(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        headers = {"Prefer": "respond-async, wait=10"}
        answer = await client.post("/v1/sandboxes", json={}, headers=headers)
    assert answer.status_code == 201


async def test_create_repeated_with_its_key_gives_the_same_sandbox(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        headers = {"Idempotency-Key": "k-1"}
        first = await client.post("/v1/sandboxes", json={"name": "a"}, headers=headers)
        again = await client.post("/v1/sandboxes", json={"name": "a"}, headers=headers)
        other = await client.post("/v1/sandboxes", json={"name": "b"}, headers=headers)
        profile = await client.post("/v1/sandboxes", json={"profile": "python"}, headers=headers)
        consumer = {"consumer": {"harness": "h", "session_id": "s"}}
        third = await client.post("/v1/sandboxes", json=consumer, headers=headers)
        fewer = await client.post("/v1/sandboxes", json={}, headers=headers)
    assert first.json()["sandbox_id"] == again.json()["sandbox_id"]
    for answer, field in ((other, "name"), (profile, "profile"), (third, "consumer")):
        assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_mismatch")
        assert answer.json()["field"] == field
        assert f"with another {field}" in answer.json()["detail"]
    # Nothing that it names differs, and yet it leaves out what the first one named.
    assert (fewer.status_code, fewer.json()["field"]) == (409, "Idempotency-Key")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"profile": 3}, "profile"),
        ({"profile": "shell", "surprise": 1}, "surprise"),
        ({"org_id": "other"}, "org_id"),
        ({"ttl": "soon"}, "ttl"),
        ({"ttl": True}, "ttl"),
        ({"ttl": -1}, "ttl"),
        ({"ttl": 1.5}, "ttl"),
        ({"env": {"A": 1}}, "env"),
        ({"env": {"A": "x" * 40000}}, "env"),
        ({"repos": [{}]}, "repos"),
        ({"repos": [{"repo_url": "https://h/x/y", "token": "x"}]}, "repos"),
        ({"repos": "x"}, "repos"),
        ({"scope": "everyone"}, "scope"),
        ({"network_mode": "all"}, "network_mode"),
        ({"workspace": {"mode": "magic"}}, "workspace"),
        ({"consumer": {"actor": "root"}}, "consumer"),
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"name": "x" * 300}, "name"),
        ({"repos": [{"repo_url": "ext::sh -c id"}]}, "repos"),
        ({"repos": [{"repo_url": "file:///etc"}]}, "repos"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
async def test_create_with_a_wrong_field_is_refused_and_the_field_is_named(
    atoll: World, body: dict[str, Any], field: str
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/sandboxes", json=body)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (422, "invalid")
    assert problem["field"].startswith(field)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b'"x"', b"1", b"{", b"\x00", b"<a/>"])
async def test_create_with_something_else_than_an_object_is_refused(
    atoll: World, content: bytes
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/sandboxes", content=content)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")


async def test_create_with_a_body_past_the_limit_is_refused(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        declared = await client.post("/v1/sandboxes", content=b" " * (1024 * 1024 + 1))

        async def pieces() -> Any:
            for _ in range(40):
                yield b" " * 65536

        streamed = await client.post("/v1/sandboxes", content=pieces())
    assert (declared.status_code, declared.json()["code"]) == (413, "too_large")
    assert (streamed.status_code, streamed.json()["code"]) == (413, "too_large")


async def test_create_needs_no_content_type(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(
            "/v1/sandboxes",
            content=b'{"profile":"shell"}',
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
    assert answer.status_code == 202


async def test_create_past_the_owners_limit_is_refused() -> None:
    async with world(max_sandboxes=3) as atoll, client_of(atoll.url, atoll.token) as client:
        answers = await asyncio.gather(*(client.post("/v1/sandboxes", json={}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [202] * 3 + [429] * 5


async def test_compose_file_that_came_with_a_create_is_shown_but_not_in_a_list(
    atoll: World,
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _made(
            client, inputs={"compose_bundle": "services: {agent: {image: a}, web: {image: nginx}}"}
        )
        assert (
            made["inputs"]["compose_bundle"] == "services: {agent: {image: a}, web: {image: nginx}}"
        )
        listed = (await client.get("/v1/sandboxes")).json()["sandboxes"]
        assert [one["inputs"]["compose_bundle"] for one in listed] == [None]


async def test_compose_file_that_is_refused_makes_nothing_and_names_its_line(atoll: World) -> None:
    file = "services:\n  web:\n    image: nginx\n    privileged: true\n"
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/v1/sandboxes", json={"inputs": {"compose_bundle": file}})
        listed = (await client.get("/v1/sandboxes")).json()["sandboxes"]
    problem = answer.json()
    assert (answer.status_code, problem["field"]) == (422, "inputs.compose_bundle"), problem
    assert "Line 4" in problem["detail"] and "privileged" in problem["detail"]
    assert listed == []


async def test_list_is_paged_and_a_tampered_cursor_is_refused(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        names = {(await _made(client, name=f"n{number}"))["name"] for number in range(5)}
        seen: list[str] = []
        cursor: str | None = None
        while True:
            query: dict[str, str | int] = {"limit": 2}
            if cursor:
                query["cursor"] = cursor
            page = (await client.get("/v1/sandboxes", params=query)).json()
            seen += [one["name"] for one in page["sandboxes"]]
            last, cursor = cursor or page["next"], page["next"]
            if cursor is None:
                break
        assert set(seen) == names
        assert len(seen) == 5
        for wrong in (last[:-2] + "zz", "a" + last, "\x00", "-1", "🦆", last * 20, "' OR 1=1 --"):
            answer = await client.get("/v1/sandboxes", params={"cursor": wrong})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid"), wrong


@pytest.mark.parametrize(
    "query",
    [{"limit": 0}, {"limit": 201}, {"limit": "x"}, {"limit": 10**30}, {"state": "sleepy"}],
    ids=str,
)
async def test_list_with_a_wrong_query_is_refused(atoll: World, query: dict[str, Any]) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        assert (await client.get("/v1/sandboxes", params=query)).status_code == 422


async def test_life_of_a_sandbox_by_name_through_every_act(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await _made(client, name="whole")
        extended = await client.post("/v1/sandboxes/whole/extend_ttl", json={"ttl": "1h"})
        stopped = await client.post("/v1/sandboxes/whole/stop?wait=true")
        refused = await client.get("/v1/sandboxes/whole/terminals")
        started = await client.post("/v1/sandboxes/whole/start?wait=true")
        renewed = await client.post("/v1/sandboxes/whole/recreate?wait=true")
        logs = await client.get("/v1/sandboxes/whole/logs")
        gone = await client.delete("/v1/sandboxes/whole?wait=true")
        again = await client.delete(f"/v1/sandboxes/{made['sandbox_id']}?wait=true")
        listed = await client.get("/v1/sandboxes")
        destroyed = await client.get("/v1/sandboxes?state=destroyed")
    assert extended.json()["expires_at"] > made["expires_at"]
    assert (stopped.status_code, stopped.json()["state"]) == (202, "stopped")
    assert (refused.status_code, refused.json()["code"]) == (409, "not_running")
    assert started.json()["state"] == "ready"
    assert renewed.json()["generation"] == 2
    assert {"at", "text"} == set(logs.json()["lines"][0])
    assert gone.json()["state"] == again.json()["state"] == "destroyed"
    assert listed.json()["sandboxes"] == []
    assert len(destroyed.json()["sandboxes"]) == 1


@pytest.mark.parametrize("ref", ["nobody", "sb_aaaaaaaaaaaaaaaa", "%2e", "..%2f", "a" * 150, "ü"])
async def test_unknown_sandbox_is_not_found_on_every_route(atoll: World, ref: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        base = f"/v1/sandboxes/{ref}"
        for method, path in (
            ("GET", base),
            ("DELETE", base),
            ("POST", f"{base}/stop"),
            ("GET", f"{base}/logs"),
            ("GET", f"{base}/terminals"),
            ("GET", f"{base}/exec"),
            ("GET", f"{base}/files"),
        ):
            answer = await client.request(method, path)
            assert answer.status_code in {404, 422}, (method, path, answer.text)


async def test_profiles_are_listed_saved_and_deleted_and_bundled_ones_stay(atoll: World) -> None:
    document = 'id: profile.mine\nversion: "1.0.0"\ndescription: Mine.\n'
    async with client_of(atoll.url, atoll.token) as client:
        before = (await client.get("/v1/profiles")).json()["profiles"]
        saved = await client.put("/v1/profiles/mine", content=document)
        one = await client.get("/v1/profiles/mine")
        wrong = await client.put("/v1/profiles/mine", content=document + "surprise: 1\n")
        bundled = await client.put(
            "/v1/profiles/shell", content=document.replace("mine", "shell", 1)
        )
        removed = await client.delete("/v1/profiles/mine")
        gone = await client.get("/v1/profiles/mine")
    assert all(profile["bundled"] for profile in before)
    assert (saved.status_code, saved.json()["bundled"]) == (200, False)
    assert one.json()["versions"] == ["1.0.0"]
    assert (wrong.status_code, wrong.json()["field"]) == (422, "surprise")
    assert bundled.status_code == 403
    assert (removed.status_code, gone.status_code) == (204, 404)


async def test_extensions_say_what_they_can_do(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        (only,) = (await client.get("/v1/extensions")).json()["extensions"]
    assert (only["name"], only["available"]) == ("ext.namespaces", True)
    assert only["capabilities"]["isolation"] == "container"


async def test_extensions_that_did_not_load_are_named_with_the_reason(atoll: World) -> None:
    missing = (
        MissingExtension("ext.mine", "mine 1.0", "it was not made within 20 s"),
        MissingExtension("ext.namespaces", "evil 6.6", "the name ext.namespaces is taken"),
    )
    # Made once at the start of a control plane: nothing changes it later.
    object.__setattr__(atoll.services.backends, "missing_extensions", missing)
    async with client_of(atoll.url, atoll.token) as client:
        found = (await client.get("/v1/extensions")).json()["extensions"]
    assert [(one["name"], one["available"]) for one in found] == [
        ("ext.mine", False),
        ("ext.namespaces", True),
        ("ext.namespaces of evil 6.6", False),
    ]
    assert found[0]["reason"] == "mine 1.0: it was not made within 20 s"
    assert found[0]["capabilities"] is None
