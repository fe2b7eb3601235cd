"""The Events extension (SEP-3415), by requests of the revision that it is defined for."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import jsonschema_rs
import pytest

from atoll.domain.event import Json
from atoll.domain.event_kind import KINDS
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.journals.events import Note
from tests.surfaces.http.world import World, client_of, world
from tests.surfaces.mcp.test_entry import INITIALIZE

EXTENSION = "io.modelcontextprotocol/events"
REVISION = "2026-07-28"
CALLED: dict[str, Json] = {"tool": "t", "permission": "p", "digest": "d", "outcome": "ok", "ms": 1}


def request_of(method: str, **params: object) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {EXTENSION: {}}},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}


def headers_of(method: str) -> dict[str, str]:
    return {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": REVISION,
        "Mcp-Method": method,
    }


async def ask(client: httpx.AsyncClient, method: str, **params: object) -> Any:
    body = request_of(method, **params)
    answer = await client.post("/mcp", json=body, headers=headers_of(method))
    return answer.json()


@asynccontextmanager
async def streamed(
    client: httpx.AsyncClient, **params: object
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    body, headers = request_of("events/stream", **params), headers_of("events/stream")
    async with client.stream("POST", "/mcp", json=body, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        yield notices(answer)


async def notices(answer: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def call_a_tool(atoll: World, **payload: Json) -> int:
    """Append an event of a tool's call; its position."""
    note = Note("tools", "tool.called", {**CALLED, **payload})
    return (await atoll.services.events.record(LOCAL_PERSON, note)).position


@pytest.fixture
async def extended() -> AsyncIterator[World]:
    async with world(mcp_events=True) as made:
        yield made


@pytest.fixture
async def client(extended: World) -> AsyncIterator[httpx.AsyncClient]:
    async with client_of(extended.url, extended.token) as made:
        yield made


async def test_extension_is_off_unless_a_setting_turns_it_on(atoll: World) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        found = await ask(client, "server/discover")
        assert EXTENSION not in found["result"]["capabilities"].get("extensions", {})
        for method in ("events/list", "events/poll", "events/stream", "events/subscribe"):
            assert (await ask(client, method, name="x"))["error"]["code"] == -32601


async def test_extension_is_advertised_where_it_is_defined(client: httpx.AsyncClient) -> None:
    found = await ask(client, "server/discover")
    assert found["result"]["capabilities"]["extensions"] == {EXTENSION: {}}
    begun = (
        await client.post(
            "/mcp", json=INITIALIZE, headers={"Accept": "application/json, text/event-stream"}
        )
    ).json()
    assert "extensions" not in begun["result"]["capabilities"]
    old = {**headers_of("events/list"), "MCP-Protocol-Version": "2025-11-25"}
    answer = await client.post("/mcp", json=request_of("events/list"), headers=old)
    assert answer.json()["error"]["code"] == -32601


async def test_every_kind_is_listed_with_its_schemas(client: httpx.AsyncClient) -> None:
    names, cursor = [], None
    while True:
        answer = await ask(client, "events/list", **({"cursor": cursor} if cursor else {}))
        page = answer["result"]
        assert page["resultType"] == "complete"
        assert len(json.dumps(page)) <= 48 * 1024
        for one in page["events"]:
            jsonschema_rs.meta.validate(one["inputSchema"])
            jsonschema_rs.meta.validate(one["payloadSchema"])
            names.append(one["name"])
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert names == sorted(KINDS)


async def test_poll_goes_on_from_its_cursor(extended: World, client: httpx.AsyncClient) -> None:
    begun = (await ask(client, "events/poll", name="tool.called"))["result"]
    assert (begun["events"], begun["truncated"], begun["hasMore"]) == ([], False, False)
    positions = [await call_a_tool(extended, tool=f"t{n}") for n in range(3)]
    first = await ask(
        client, "events/poll", name="tool.called", cursor=begun["cursor"], maxEvents=2
    )
    page = first["result"]
    assert page["hasMore"]
    rest = await ask(client, "events/poll", name="tool.called", cursor=page["cursor"])
    told = [*page["events"], *rest["result"]["events"]]
    assert [one["data"]["position"] for one in told] == positions
    assert not rest["result"]["hasMore"]
    listed = await ask(client, "events/list", cursor="token.created")
    schema = next(
        one["payloadSchema"] for one in listed["result"]["events"] if one["name"] == "tool.called"
    )
    for one in told:
        jsonschema_rs.validate(schema, one["data"])


async def test_stream_confirms_sends_and_beats(
    extended: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.surfaces.mcp.event_methods.BEAT_SECONDS", 0.2)
    async with asyncio.timeout(10), streamed(client, name="tool.called") as stream:
        active = await anext(stream)
        assert active["method"] == "notifications/events/active"
        assert active["params"]["truncated"] is False
        at = await call_a_tool(extended, tool="t\u202e")
        while (told := await anext(stream))["method"] == "notifications/events/heartbeat":
            pass
        assert told["params"]["cursor"] == str(at)
        assert told["params"]["data"]["payload"]["tool"] == r"t\u202e"
        beat = await anext(stream)
        assert beat["method"] == "notifications/events/heartbeat"
        assert beat["params"]["cursor"] == str(at)
        assert beat["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": 1}


async def test_stream_resumes_after_its_cursor(extended: World, client: httpx.AsyncClient) -> None:
    positions = [await call_a_tool(extended) for _ in range(60)]
    async with (
        asyncio.timeout(10),
        streamed(client, name="tool.called", cursor=str(positions[0])) as stream,
    ):
        assert (await anext(stream))["method"] == "notifications/events/active"
        seen = [(await anext(stream))["params"]["data"]["position"] for _ in positions[1:]]
    assert seen == positions[1:]


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "no.such"}, -32023),
        ({"name": "tool.called", "cursor": "-1"}, -32602),
        ({"name": "tool.called", "cursor": "1e3"}, -32602),
        ({"name": "tool.called", "cursor": "9" * 17}, -32602),
        ({"name": "tool.called", "cursor": "\u0661"}, -32602),
        ({"name": "tool.called", "cursor": 5}, -32602),
        ({"name": "tool.called", "cursor": {"a": []}}, -32602),
        ({"name": "tool.called", "arguments": {"sql": "x"}}, -32602),
        ({"name": "tool.called", "arguments": {"stream": ["a"]}}, -32602),
        ({"name": "tool.called", "arguments": {"stream": ""}}, -32602),
        ({"name": "tool.called", "arguments": {"stream": "sandbox:nope"}}, -32602),
        ({"name": "tool.called", "arguments": {"uri": "file:///etc/passwd"}}, -32602),
        ({"name": "tool.called", "maxEvents": 0}, -32602),
        ({"name": "tool.called", "maxAgeMs": -1}, -32602),
        ({"name": "tool.called", "maxAgeMs": 2**60}, -32602),
        ({}, -32602),
    ],
)
@pytest.mark.parametrize("method", ["events/poll", "events/stream"])
async def test_wrong_parameters_are_refused(
    client: httpx.AsyncClient, method: str, params: dict[str, object], code: int
) -> None:
    if method == "events/stream" and "maxEvents" in params:
        return
    assert (await ask(client, method, **params))["error"]["code"] == code


async def test_cursor_that_the_log_does_not_have_begins_now(
    extended: World, client: httpx.AsyncClient
) -> None:
    newest = await call_a_tool(extended)
    found = (await ask(client, "events/poll", name="tool.called", cursor="9" * 16))["result"]
    assert (found["events"], found["truncated"], found["cursor"]) == ([], True, str(newest))


async def test_old_events_are_left_out_when_asked(
    extended: World, client: httpx.AsyncClient
) -> None:
    begun = (await ask(client, "events/poll", name="tool.called"))["result"]
    await call_a_tool(extended)
    extended.clock.at = extended.clock.at.replace(year=extended.clock.at.year + 1)
    at = await call_a_tool(extended)
    told = {"name": "tool.called", "cursor": begun["cursor"]}
    found = (await ask(client, "events/poll", **told, maxAgeMs=1000))["result"]
    assert [one["data"]["position"] for one in found["events"]] == [at]
    assert found["truncated"]
    whole = (await ask(client, "events/poll", **told, maxAgeMs=2**53))["result"]
    assert len(whole["events"]) == 2 and not whole["truncated"]


async def test_without_the_permission_nothing_is_offered(extended: World) -> None:
    async with client_of(extended.url, extended.token) as client:
        body = {"name": "less", "capabilities": [Capability.SANDBOX_READ]}
        made = (await client.post("/auth/pat", json=body)).json()
    async with client_of(extended.url, made["token"]) as client:
        assert (await ask(client, "events/list"))["result"]["events"] == []
        for method in ("events/poll", "events/stream"):
            assert (await ask(client, method, name="tool.called"))["error"]["code"] == -32024


async def test_revoked_token_ends_its_stream_within_five_seconds(extended: World) -> None:
    async with client_of(extended.url, extended.token) as owner:
        made = (await owner.post("/auth/pat", json={"name": "reader"})).json()
        async with (
            client_of(extended.url, made["token"]) as client,
            streamed(client, name="tool.called") as stream,
        ):
            assert (await anext(stream))["method"] == "notifications/events/active"
            gone = await owner.delete(f"/v1/tokens/{made['id']}")
            assert gone.status_code in {200, 204}, gone.text
            with pytest.raises((StopAsyncIteration, httpx.HTTPError)):
                async with asyncio.timeout(5):
                    await anext(stream)


async def test_streams_of_one_caller_are_bounded(
    extended: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.services.tools.event_feeds.MAX_STREAMS", 1)
    async with streamed(client, name="tool.called") as stream:
        await anext(stream)
        refused = await ask(client, "events/stream", name="tool.called")
        assert refused["error"]["code"] == -32025


async def test_header_and_body_that_disagree_are_refused(client: httpx.AsyncClient) -> None:
    for header, body in (("events/stream", "events/poll"), ("events/poll", "events/stream")):
        answer = await client.post(
            "/mcp", json=request_of(body, name="tool.called"), headers=headers_of(header)
        )
        assert answer.status_code == 400
