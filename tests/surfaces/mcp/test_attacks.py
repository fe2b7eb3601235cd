"""Clients of `/mcp` that send what no honest one sends."""

import asyncio
from typing import Any

import pytest
from mcp_types import TextContent

from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.journals.events import Note
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect, Era
from tests.surfaces.mcp.test_entry import INITIALIZE
from tests.surfaces.mcp.test_tools import value_of
from tests.surfaces.mcp.test_watches import session


async def _called(atoll: World, arguments: str) -> Any:
    head = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":'
    body = f'{head}{{"name":"events.recent","arguments":{arguments}}}}}'
    async with client_of(atoll.url, atoll.token) as client:
        told = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = await client.post("/mcp", content=body, headers=told)
    return answer.json()["result"]["structuredContent"]


@pytest.mark.parametrize("number", ["NaN", "1e999", "-Infinity", str(2**70 + 1), str(2**63)])
async def test_number_that_cannot_be_is_invalid(atoll: World, number: str) -> None:
    assert (await _called(atoll, f'{{"after":{number}}}'))["code"] == "invalid"


async def test_answer_is_bounded_however_long_an_event_is(atoll: World, connect: Connect) -> None:
    payload: dict[str, Json] = {
        "tool": "x" * 200_000,
        "permission": "p",
        "digest": "d",
        "outcome": "ok",
        "ms": 1,
    }
    await atoll.services.events.record(LOCAL_PERSON, Note("tools", "tool.called", payload))
    async with connect() as client:
        recent = await client.call_tool("events.recent", {})
    assert len(value_of(recent)["events"]) == 1
    texts = [one.text for one in recent.content if isinstance(one, TextContent)]
    assert sum(len(one.encode()) for one in texts) <= 32 * 1024


async def test_one_request_cannot_listen_to_very_many(
    atoll: World, connect: Connect, era: Era
) -> None:
    if era == "legacy":
        return
    uris = [f"atoll://sandbox/{number}" for number in range(101)]
    async with connect() as client:
        with pytest.raises(Exception, match="watches 100 URIs at most"):
            async with client.listen(resource_subscriptions=uris):
                pass


async def test_standing_stream_without_the_permission_is_refused(atoll: World) -> None:
    async with session(atoll) as one, client_of(atoll.url, atoll.token) as client:
        body = {"name": "less", "capabilities": [Capability.SANDBOX_READ]}
        made = await client.post("/auth/pat", json=body)
        assert made.status_code == 201, made.text
        headers = {**one.headers, "Authorization": f"Bearer {made.json()['token']}"}
        headers["Accept"] = "application/json, text/event-stream"
        headers.pop("Mcp-Session-Id")
        begun = await client.post("/mcp", json=INITIALIZE, headers=headers)
        headers["Mcp-Session-Id"] = begun.headers["mcp-session-id"]
        answer = await client.get("/mcp", headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("version", ["2026-07-28", "2999-01-01", "x"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_no_stream_opens_without_a_session(atoll: World, version: str, method: str) -> None:
    headers = {"Accept": "text/event-stream, application/json", "MCP-Protocol-Version": version}
    async with (
        client_of(atoll.url, atoll.token) as client,
        asyncio.timeout(5),
        client.stream(method, "/mcp", headers=headers) as answer,
    ):
        assert answer.status_code in {400, 405}
