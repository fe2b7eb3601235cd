"""The routes of trusted services, attacked: without their token, with half of it, from inside a
sandbox, from a browser, and by those whose things they are not."""

import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import httpx
import pytest

from atoll.domain.errors import Invalid
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.server.internal_access import InternalAccess, internal_access
from atoll.surfaces.http.server.settings import ServerSettings
from atoll.wire.words.events import ActorKind
from atoll.wire.words.workers import MOST_ARTIFACTS
from atoll.wiring.control.settings import read_settings
from tests.surfaces.http.team import Team, team_of
from tests.surfaces.http.test_webhooks import URL, _sent, _working
from tests.surfaces.http.world import World, client_of, world

TOKEN = "0123456789abcdef" * 4
OURS = {"X-Internal-Token": TOKEN}
EVENTS, ARTIFACTS = "/internal/events", "/internal/executions/w/artifacts"
REPORTED = {"name": "build.finished", "data": {"ok": True}}
ARTIFACT = {"name": "a.tgz", "type": "application/gzip", "size": 3, "sha256": "a" * 64}
BODIES: list[tuple[str, dict[str, Any]]] = [(EVENTS, REPORTED), (ARTIFACTS, ARTIFACT)]


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world(internal=internal_access(TOKEN)) as made:
        yield made


@pytest.fixture
async def service(atoll: World) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as opened:
        yield opened


async def worker_of(atoll: World, token: str, name: str = "w") -> None:
    async with client_of(atoll.url, token) as client:
        made = await client.post("/v1/workers", json={"worker_id": name})
        assert made.status_code == 201, made.text


async def snapshot(client: httpx.AsyncClient, name: str = "w") -> Any:
    return (await client.get(f"/v1/workers/{name}/snapshot")).json()


async def reported(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found = (await client.get("/v1/events", params={"limit": 1000})).json()["events"]
    return [one for one in found if one["event_type"] == "service.reported"]


async def test_trusted_service_reports_an_artifact_and_an_event(
    atoll: World, service: httpx.AsyncClient
) -> None:
    """The `name`, `type`, `size` and `sha256` of a file are shown."""
    await worker_of(atoll, atoll.token)
    for status, size in ((201, 3), (200, 4)):
        sent = await service.post(ARTIFACTS, json={**ARTIFACT, "size": size}, headers=OURS)
        assert (sent.status_code, sent.json()) == (status, {**ARTIFACT, "size": size})
    sent = await service.post(EVENTS, json={**REPORTED, "worker_id": "w"}, headers=OURS)
    assert sent.status_code == 201, sent.text
    async with client_of(atoll.url, atoll.token) as client:
        assert (await snapshot(client))["artifacts"] == [{**ARTIFACT, "size": 4}]
        (told,) = await reported(client)
        assert told == sent.json()
    assert told["stream"] == "service:personal:build.finished"
    assert told["payload"] == {**REPORTED, "worker_id": "w"}
    assert told["actor"]["kind"] == "atm"


@pytest.mark.parametrize(("path", "body"), BODIES)
async def test_they_are_off_where_the_setting_is_empty(path: str, body: dict[str, Any]) -> None:
    assert internal_access("") is None
    async with world() as atoll:
        await worker_of(atoll, atoll.token)
        bearer = {"Authorization": f"Bearer {atoll.token}"}
        async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
            for headers in ({}, OURS, bearer, {**OURS, **bearer}, {"X-Internal-Token": ""}):
                refused = await client.post(path, json=body, headers=headers)
                assert refused.status_code == 404, refused.text
        async with client_of(atoll.url, atoll.token) as client:
            assert (await snapshot(client))["artifacts"] == await reported(client) == []


WRONG: list[list[tuple[str, str]]] = [
    [],
    [("X-Internal-Token", "")],
    [("X-Internal-Token", TOKEN[:-1])],
    [("X-Internal-Token", TOKEN + "0")],
    [("X-Internal-Token", TOKEN.upper())],
    [("X-Internal-Token", f"Bearer {TOKEN}")],
    [("X-Internal-Token", f"{TOKEN},{TOKEN}")],
    [("X-Internal-Token", TOKEN), ("X-Internal-Token", TOKEN)],
    [("X-Internal-Token", "x"), ("X-Internal-Token", TOKEN)],
    [("Authorization", f"Bearer {TOKEN}")],
    [("Cookie", f"X-Internal-Token={TOKEN}")],
    [("X-Atoll-Front-End", TOKEN)],
]


@pytest.mark.parametrize(("path", "body"), BODIES)
@pytest.mark.parametrize("bearer", [False, True])
async def test_wrong_token_is_refused_whoever_else_the_caller_is(
    atoll: World, service: httpx.AsyncClient, path: str, body: dict[str, Any], bearer: bool
) -> None:
    """Also with the administrator's own token."""
    await worker_of(atoll, atoll.token)
    for headers in WRONG:
        named = {name for name, _ in headers}
        own = [("Authorization", f"Bearer {atoll.token}")]
        more = own if bearer and "Authorization" not in named else []
        refused = await service.post(path, json=body, headers=[*headers, *more])
        told = refused.json()
        assert (refused.status_code, told["code"]) == (401, "internal_token"), headers
        assert TOKEN not in refused.text
    async with client_of(atoll.url, atoll.token) as client:
        assert (await snapshot(client))["artifacts"] == await reported(client) == []


async def test_token_is_compared_in_constant_time(
    service: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(given: bytes, expected: bytes) -> bool:
        compared.append((given, expected))
        return real(given, expected)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    for given in ("", "0", TOKEN[:-1], TOKEN):
        await service.post(EVENTS, json=REPORTED, headers={"X-Internal-Token": given})
    assert [one for one in compared if one[1] == TOKEN.encode()] == [
        (given.encode(), TOKEN.encode()) for given in ("", "0", TOKEN[:-1], TOKEN)
    ]


async def test_token_opens_nothing_else(atoll: World, service: httpx.AsyncClient) -> None:
    await worker_of(atoll, atoll.token)
    for method, path in (
        ("GET", "/v1/workers"), ("GET", "/v1/workers/w/stream?tail_ms=0"), ("GET", "/v1/events"),
        ("POST", "/v1/workers/w/stop"), ("GET", "/internal/v1/codex/workers"), ("GET", "/v1/me"),
        ("POST", "/internal/v1/codex/workers/w/stop"), ("GET", "/v1/secrets"),
        ("POST", "/internal/events/"), ("POST", "/internal/executions/w"),
        ("POST", "/internal/executions/w/artifacts/x"), ("POST", "/internal//events"),
    ):  # fmt: skip
        refused = await service.request(method, path, headers=OURS)
        assert refused.status_code == 401, path
    for path in (EVENTS, ARTIFACTS):
        assert (await service.get(path, headers=OURS)).status_code == 404


async def _inside(atoll: World) -> str:
    """A token as a sandbox has it."""
    async with client_of(atoll.url, atoll.token) as client:
        box = await client.post("/v1/sandboxes?wait=ready", json={"profile": "shell"})
        sandbox = box.json()["sandbox_id"]
        body = {"name": "inside", "sandbox_id": sandbox, "capabilities": ["agent.use"]}
        made = await client.post("/auth/pat", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["token"])


async def test_nothing_inside_a_sandbox_reports_even_if_it_knows_the_token(
    atoll: World, service: httpx.AsyncClient
) -> None:
    await worker_of(atoll, atoll.token)
    inside, team = await _inside(atoll), Team(atoll)
    team.people["agent"] = replace(
        atoll.services.logins.person(), kind=ActorKind.AGENT, interactive=False
    )
    for token in (inside, "agent"):
        for path, body in BODIES:
            headers = {**OURS, "Authorization": f"Bearer {token}"}
            refused = await service.post(path, json=body, headers=headers)
            told = refused.json()
            assert (refused.status_code, told["code"]) == (403, "internal_only"), refused.text
    async with client_of(atoll.url, atoll.token) as client:
        assert (await snapshot(client))["artifacts"] == await reported(client) == []


async def test_browsers_do_not_report(atoll: World, service: httpx.AsyncClient) -> None:
    await worker_of(atoll, atoll.token)
    browser = {**await atoll.browser(), "Origin": atoll.url}
    for path, body in BODIES:
        refused = await service.post(path, json=body, headers={**OURS, **browser})
        assert (refused.status_code, refused.json()["code"]) == (403, "internal_only")
        foreign = {**OURS, "Origin": "https://evil.example"}
        refused = await service.post(path, json=body, headers=foreign)
        assert refused.status_code == 403


async def test_tenancy_is_that_of_the_services_own_token(atoll: World) -> None:
    team = await team_of(atoll, ann="member", bob="member", vera="viewer")
    await team.organization("else")
    await team.join("eve", org="else")
    for name in ("ann", "eve"):
        await worker_of(atoll, f"token-of-{name}")
    for name, size in (("ann", 1), ("eve", 2)):
        sent = await team.call(
            name, "POST", ARTIFACTS, json={**ARTIFACT, "size": size}, headers=OURS
        )
        assert sent.status_code == 201, sent.text
        sent = await team.call(name, "POST", EVENTS, json=REPORTED, headers=OURS)
        assert sent.json()["org_id"] == ("personal" if name == "ann" else "else")
    for name, size in (("ann", 1), ("eve", 2)):
        async with team.client(name) as client:
            assert [one["size"] for one in (await snapshot(client))["artifacts"]] == [size]
            assert len(await reported(client)) == 1
    told = []
    for worker in ("w", "x"):
        about = {**REPORTED, "worker_id": worker}
        for path, body in ((ARTIFACTS.replace("/w/", f"/{worker}/"), ARTIFACT), (EVENTS, about)):
            foreign = await team.call("bob", "POST", path, json=body, headers=OURS)
            assert foreign.status_code == 404
            told.append(foreign.json()["detail"].replace(f"'{worker}'", "…"))
    assert len(set(told)) == 1
    async with team.client("bob") as client:
        assert await reported(client) == []
    for path, body in BODIES:
        assert (await team.call("vera", "POST", path, json=body, headers=OURS)).status_code == 403


async def test_front_end_may_name_whose_report_it_is() -> None:
    secret = "s" * 40
    here = FrontEnd((ip_network("127.0.0.0/8"),), secret.encode())
    async with world(internal=InternalAccess(TOKEN.encode()), front_end=here) as atoll:
        await team_of(atoll, ann="member")
        named = {**OURS, "X-Atoll-Front-End": secret, "X-OA-User-Id": "ann"}
        async with httpx.AsyncClient(base_url=atoll.url, trust_env=False) as client:
            sent = await client.post(EVENTS, json=REPORTED, headers=named)
            assert (sent.status_code, sent.json()["actor"]["id"]) == (201, "ann")
            unknown = {**named, "X-Atoll-Front-End": "x" * 40}
            assert (await client.post(EVENTS, json=REPORTED, headers=unknown)).status_code == 403


BAD: list[tuple[str, dict[str, Any], str]] = [
    *((EVENTS, {**REPORTED, **more}, field) for more, field in (
        ({"name": "Build"}, "name"), ({"name": ""}, "name"), ({"name": 7}, "name"),
        ({"data": []}, "data"), ({"data": {"x": "y" * 9000}}, "data"),
        ({"worker_id": "../w"}, "worker_id"), ({"org_id": "else"}, "org_id"),
        ({"owner": "bob"}, "owner"), ({"event_type": "sandbox.ready"}, "event_type"),
        ({"stream": "auth"}, "stream"), ({"actor": {"kind": "adm"}}, "actor"),
    )),
    *((ARTIFACTS, {**ARTIFACT, **more}, field) for more, field in (
        ({"name": "a\n"}, "name"), ({"name": "x" * 256}, "name"), ({"type": "text"}, "type"),
        ({"size": -1}, "size"), ({"size": 2**32}, "size"), ({"size": "3"}, "size"),
        ({"size": 1.5}, "size"), ({"sha256": "A" * 64}, "sha256"), ({"sha256": ""}, "sha256"),
        ({"url": "https://evil.example"}, "url"), ({"org_id": "else"}, "org_id"),
    )),
]  # fmt: skip


async def test_bad_report_names_its_field_and_leaves_nothing(
    atoll: World, service: httpx.AsyncClient
) -> None:
    await worker_of(atoll, atoll.token)
    for path, body, field in BAD:
        refused = await service.post(path, json=body, headers=OURS)
        told = refused.json()
        assert (refused.status_code, told["field"]) == (422, field), (body, told)
    for raw in (b"", b"{", b"[]", b'{"name":"a","name":"b"}', b"\xff", b"[" * 100_000):
        for path in (EVENTS, ARTIFACTS):
            refused = await service.post(path, content=raw, headers=OURS)
            assert refused.status_code == 422, refused.text
    async with client_of(atoll.url, atoll.token) as client:
        assert (await snapshot(client))["artifacts"] == await reported(client) == []


async def test_artifacts_are_bounded(atoll: World, service: httpx.AsyncClient) -> None:
    await worker_of(atoll, atoll.token)
    for number in range(MOST_ARTIFACTS):
        body = {**ARTIFACT, "name": f"a{number}"}
        assert (await service.post(ARTIFACTS, json=body, headers=OURS)).status_code == 201
    more = await service.post(ARTIFACTS, json={**ARTIFACT, "name": "more"}, headers=OURS)
    assert (more.status_code, more.json()["code"]) == (429, "limit_reached")
    again = await service.post(ARTIFACTS, json={**ARTIFACT, "name": "a0"}, headers=OURS)
    assert again.status_code == 200


async def test_webhook_starts_from_an_event(atoll: World, service: httpx.AsyncClient) -> None:
    async with client_of(atoll.url, atoll.token) as client, _working(atoll):
        wanted = {"event_types": ["service.*"], "streams": ["service:personal:build.finished"]}
        made = await client.post("/v1/webhooks", json={"url": URL, **wanted})
        assert made.status_code == 201, made.text
        for name in ("build.begun", "build.finished"):
            await service.post(EVENTS, json={**REPORTED, "name": name}, headers=OURS)
        (message,) = await _sent(atoll, URL, 1)
    assert json.dumps(message).count("build.finished") >= 1


@pytest.mark.parametrize("token", ["short", "x" * 31, "x" * 1025, "ä" * 32, "x" * 31 + "\n"])
def test_token_that_can_be_guessed_or_is_no_header_stops_the_start(token: str) -> None:
    with pytest.raises(Invalid) as found:
        ServerSettings(internal_api_token=token)
    assert found.value.field == "internal_api_token"
    assert token not in found.value.message


def test_token_is_not_shown_with_the_settings(tmp_path: Any) -> None:
    for name in ("INTERNAL_API_TOKEN", "ATOLL_INTERNAL_API_TOKEN"):
        found = read_settings(tmp_path, {name: TOKEN}, {})
        assert found.server.internal_api_token == TOKEN
        assert TOKEN not in repr(found) and TOKEN not in repr(internal_access(TOKEN))
