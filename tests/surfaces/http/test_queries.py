"""Queries are read as bodies are: what a route does not take is refused by name."""

import re

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from atoll.surfaces.http.app import shared_routes
from atoll.surfaces.http.body.queries import ANY_QUERY
from atoll.surfaces.http.serving.routes import NamedRoute, SocketRoute
from tests.surfaces.http.world import World, client_of

ROUTES = shared_routes()

INTAKE = ("/internal/events", "/internal/executions")
"""The routes that are there for trusted services alone."""


def _at(path: str) -> str:
    return re.sub(r"\{[^}]*\}", "nothing", path)


async def test_every_route_refuses_a_parameter_that_it_does_not_take(atoll: World) -> None:
    lenient, silent = set(), []
    async with client_of(atoll.url, atoll.token) as client:
        for route in ROUTES:
            if not isinstance(route, NamedRoute) or route.path.startswith(INTAKE):
                continue
            if route.path in ANY_QUERY:
                lenient.add(route.path)
                continue
            method = min(route.methods or {"GET"})
            answer = await client.request(method, _at(route.path), params={"colour": "blue"})
            told = answer.json() if answer.status_code == 422 else {}
            if (told.get("code"), told.get("field")) != ("invalid", "colour"):
                silent.append((method, route.path, answer.status_code))
            else:
                assert "`colour`" in told["detail"]
    assert silent == []
    assert lenient == set(ANY_QUERY)


async def test_every_socket_closes_with_the_parameter_that_it_does_not_take(atoll: World) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}"}
    for route in ROUTES:
        if not isinstance(route, SocketRoute):
            continue
        url = f"{atoll.url.replace('http', 'ws', 1)}{_at(route.path)}?colour=blue"
        async with connect(url, additional_headers=headers) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None, route.path
        assert closed.value.rcvd.code == 4403, route.path
        assert "`colour`" in closed.value.rcvd.reason, route.path


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("/sandboxes/box/terminals/t_1/attach?mode=card", "mode"),
        ("/sandboxes/box/terminals/t_1/attach?mode=cards&cols=80", "cols"),
        ("/sandboxes/box/terminals/t_1/attach?cols=80", "rows"),
        (f"/sandboxes/box/terminals/t_1/attach?since={'1' * 129}", "since"),
        (f"/sandboxes/box/terminals/t_1/cards?since={'1' * 129}", "since"),
        ("/dashboards/dsh_1/attach?heartbeat=maybe", "heartbeat"),
    ],
)
async def test_socket_closes_with_the_value_that_nothing_acts_on(
    atoll: World, query: str, field: str
) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}"}
    url = f"{atoll.url.replace('http', 'ws', 1)}/v1{query}"
    async with connect(url, additional_headers=headers) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            await socket.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403
    assert f"`{field}`" in closed.value.rcvd.reason


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/events?limit=1&limit=2", "limit"),
        ("/v1/events/stream?after=1&after=2", "after"),
        ("/v1/sandboxes?cursor=a&cursor=b", "cursor"),
        ("/v1/sandboxes?Limit=1", "Limit"),
        ("/v1/workers?=1", "query"),
        ("/internal/v1/codex/workers?colour=blue", "colour"),
        ("/api/runtime/codex/workers/w/stream?after=1", "after"),
    ],
)
async def test_repeated_or_misspelt_parameter_is_named(atoll: World, path: str, field: str) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["field"]) == (422, field)


async def test_parameter_of_a_list_is_repeated(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.get("/v1/sandboxes?state=ready&state=stopped&limit=1")
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("query", "field"), [("name=flat", "name"), ("names=flt", "names"), ("reach=all", "reach")]
)
async def test_endpoint_of_tools_refuses_what_it_does_not_act_on(
    atoll: World, query: str, field: str
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post(f"/mcp?{query}", json={})
    assert (answer.status_code, answer.json()["field"]) == (422, field)


BOX = "/v1/sandboxes/{box}"
TERMINAL = f"{BOX}/terminals/t_1"
KEY = {"name": "K", "value": "sk-canary-A1b2C3d4E5"}
DROPPED: tuple[tuple[str, str, dict[str, object] | None, str], ...] = (
    ("GET", f"{BOX}/bundle?all=true&branch=x", None, "branch"),
    ("GET", f"{BOX}/changes?checkpoint=1", None, "checkpoint"),
    ("GET", f"{BOX}/files/stat?path=a&path_b64=YQ==", None, "path_b64"),
    ("DELETE", f"{BOX}?secrets=allow", None, "secrets"),
    ("POST", f"{BOX}/agents", {"agent": "codex", "mode": "machine", "name": "n"}, "name"),
    ("POST", f"{BOX}/agents", {"agent": "codex", "mode": "machine", "rows": 9}, "rows"),
    ("POST", f"{BOX}/agents", {"agent": "acp:kimi", "mode": "tui"}, "mode"),
    ("POST", f"{BOX}/agents", {"agent": "acp:kimi", "softlock": "strict"}, "softlock"),
    ("POST", f"{TERMINAL}/agent", {"action": "pause", "gaps": [1, 1, 1, 1]}, "gaps"),
    ("POST", f"{TERMINAL}/cards/c/answer", {"option": "y", "text": "No."}, "option"),
    ("POST", f"{BOX}/agents", {"agent": "codex", "resume": True, "conversation": "c"}, "resume"),
    ("POST", "/v1/secrets", {**KEY, "provider": "openai"}, "provider"),
    ("POST", "/v1/secrets", {**KEY, "push": ["refs/heads/x"]}, "push"),
    ("POST", "/v1/secrets", {**KEY, "scope": "profile:nope"}, "scope"),
    ("POST", "/v1/webhooks", {"url": "https://a.example", "streams": ["sandbox:no"]}, "streams"),
    ("POST", "/auth/subscription", {"streams": ["sandbox:no"]}, "streams"),
    ("GET", f"{BOX}?timeout=5", None, "timeout"),
    ("POST", f"{BOX}/stop?wait=false&timeout=5", None, "timeout"),
    ("GET", "/v1/events?stream=sandbox:no", None, "stream"),
    ("GET", "/v1/events/stream?stream=worker:no", None, "stream"),
    ("POST", "/v1/workers", {"worker_id": "w", "agent": "gemini"}, "agent"),
)


async def test_value_that_nothing_acts_on_is_refused_with_its_field(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"profile": "python"})
        box = made.json()["sandbox_id"]
        for method, path, body, field in DROPPED:
            answer = await client.request(method, path.format(box=box), json=body)
            told = answer.json()
            assert (answer.status_code, told.get("field")) == (422, field), (path, answer.text)
        assert (await client.get(BOX.format(box=box))).json()["state"] == "ready"
        assert (await client.get("/v1/secrets")).json()["secrets"] == []
        assert (await client.get("/v1/workers")).json()["workers"] == []
