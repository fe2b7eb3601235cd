"""Routes of workers: three prefixes for one service, every bad input with its code, and whose they
are."""

from collections.abc import AsyncIterator
from ipaddress import ip_network
from typing import Any

import httpx
import pytest

from atoll.surfaces.http.server.front_end import FrontEnd
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of, world

__all__ = ["atoll"]

PREFIXES = ("/v1/workers", "/internal/v1/codex/workers", "/api/runtime/codex/workers")
SECRET = "s" * 40
HERE = FrontEnd((ip_network("127.0.0.0/8"),), SECRET.encode())
KNOWN = {"X-Atoll-Front-End": SECRET}
ANN, BOB = {**KNOWN, "X-OA-User-Id": "ann"}, {**KNOWN, "X-OA-User-Id": "bob"}
GUEST = {**KNOWN, "X-OA-Guest-Scope": "g-1"}


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.fixture
async def client(atoll: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(atoll.url, atoll.token) as opened:
        yield opened


def request(method: str = "thread/list", number: str = "r1", **params: Any) -> dict[str, Any]:
    return {"request": {"request_id": number, "method": method, "params": params}}


async def test_three_prefixes_are_one_service(client: httpx.AsyncClient) -> None:
    for prefix in PREFIXES:
        made = await client.post(prefix, json={"worker_id": "w"})
        assert made.status_code == (201 if prefix == PREFIXES[0] else 200), made.text
        shown = await client.get(f"{prefix}/w/snapshot")
        assert shown.json()["worker_id"] == "w"
        assert [one["worker_id"] for one in (await client.get(prefix)).json()["workers"]] == ["w"]
    stopped = await client.post(f"{PREFIXES[1]}/w/stop", json={"reason": "done"})
    assert stopped.status_code == 202


BAD_CREATES: list[tuple[dict[str, Any], str]] = [
    ({}, "worker_id"),
    ({"worker_id": "../x"}, "worker_id"),
    ({"worker_id": "w", "agent": "nobody"}, "agent"),
    ({"worker_id": "w", "agent": "opencode"}, "agent"),
    ({"worker_id": "w", "backend": "desktop", "execution_mode": "sandbox"}, "execution_mode"),
    ({"worker_id": "w", "execution_mode": "elsewhere"}, "execution_mode"),
    ({"worker_id": "w", "workspace_ref": "/root"}, "workspace_ref"),
    ({"worker_id": "w", "codex_home_ref": "sandbox:sb_1/agent-home"}, "codex_home_ref"),
    ({"worker_id": "w", "thread_id": "a b"}, "thread_id"),
    ({"worker_id": "w", "permissions": "everything"}, "permissions"),
    ({"worker_id": "w", "teardown": {"policy": "never"}}, "teardown.policy"),
    (
        {"worker_id": "w", "teardown": {"policy": "immediate", "retain_for": "1h"}},
        "teardown.retain_for",
    ),
    ({"worker_id": "w", "metadata": {"a": "x" * 513}}, "metadata.a"),
    ({"worker_id": "w", "unheard": 1}, "unheard"),
]


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_wrong_create_names_its_field(client: httpx.AsyncClient, prefix: str) -> None:
    for body, field in BAD_CREATES:
        answer = await client.post(prefix, json=body)
        assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
    assert (await client.get(prefix)).json()["workers"] == []


BAD_REQUESTS: list[tuple[dict[str, Any], str, str]] = [
    (request("config/read"), "unsupported_method", "request.method"),
    (request("nothing/at/all"), "unsupported_method", "request.method"),
    (request("thread/read"), "invalid_request", "request.params.threadId"),
    (request("thread/start", config={}), "invalid_request", "request.params.config"),
    (request("thread/start", cwd="/"), "invalid_request", "request.params.cwd"),
    ({**request(), "wait_ms": 60_001}, "invalid", "wait_ms"),
    ({**request(), "wait_ms": -1}, "invalid", "wait_ms"),
    (request(number=""), "invalid", "request.request_id"),
    (request(number="a b"), "invalid", "request.request_id"),
    (request(number="x" * 129), "invalid", "request.request_id"),
    ({"request": {"request_id": "r"}}, "invalid", "request.method"),
    ({}, "invalid", "request"),
]


async def test_wrong_request_has_its_code_and_its_field(client: httpx.AsyncClient) -> None:
    await client.post(PREFIXES[0], json={"worker_id": "w"})
    for body, code, field in BAD_REQUESTS:
        answer = await client.post(f"{PREFIXES[1]}/w/requests", json=body)
        told = answer.json()
        assert (answer.status_code, told["code"], told["field"]) == (422, code, field), told
    assert (await client.get(f"{PREFIXES[0]}/w/snapshot")).json()["pending"] == []


async def test_stream_is_resumed_by_one_number(client: httpx.AsyncClient) -> None:
    await client.post(PREFIXES[0], json={"worker_id": "w"})
    place = f"{PREFIXES[2]}/w/stream"
    differing = await client.get(place, params={"cursor": 3}, headers={"Last-Event-ID": "4"})
    assert (differing.status_code, differing.json()["field"]) == (422, "cursor")
    for wrong in ({"cursor": -1}, {"cursor": "x"}):
        assert (await client.get(place, params=wrong)).status_code == 422
    assert (await client.get(place, headers={"Last-Event-ID": "x"})).status_code == 422


async def test_foreign_and_missing_workers_answer_alike_and_guests_have_their_own() -> None:
    async with world(front_end=HERE) as atoll:
        await team_of(atoll, ann="member", bob="member")
        async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
            for headers in (ANN, GUEST):
                made = await client.post(PREFIXES[1], json={"worker_id": "w"}, headers=headers)
                assert made.status_code == 201, made.text
            for prefix in PREFIXES:
                listed = await client.get(prefix, headers=BOB)
                assert listed.json().get("workers") == [], listed.text
                for method, rest, body in (
                    ("GET", "snapshot", None),
                    ("POST", "requests", request()),
                    ("POST", "stop", {}),
                    ("GET", "stream", None),
                ):
                    told = []
                    for name in ("w", "x"):
                        place = f"{prefix}/{name}/{rest}"
                        answer = await client.request(method, place, json=body, headers=BOB)
                        assert answer.status_code == 404
                        told.append(answer.json()["detail"].replace(f"'{name}'", "…"))
                    assert told[0] == told[1]
                both = {**ANN, "X-OA-Guest-Scope": "g-1"}
                for headers in (both, KNOWN, {"X-OA-User-Id": "ann"}, {}):
                    refused = await client.get(f"{prefix}/w/snapshot", headers=headers)
                    assert refused.status_code in (401, 403)
