"""Every tool, called by everybody who may not: made from the list of tools, with no exception.

A tool that is added tomorrow is in it by itself.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from atoll.domain.people.capability import EVERY_CAPABILITY, Capability
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.surfaces.mcp.definition import ToolDefinition
from atoll.surfaces.mcp.toolbox import toolbox
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.team import Team
from tests.surfaces.http.world import World, client_of, world
from tests.surfaces.mcp.requests import LEGACY, MODERN, body_of, headers_of

TOOLS = toolbox().all()
ACCEPT = {"Accept": "application/json, text/event-stream"}
LISTEN = "subscriptions/listen"
WATCHED = {"resourceSubscriptions": ["atoll://sandbox/*"]}
LISTENED = body_of(MODERN, LISTEN, notifications=WATCHED)
VALUES: dict[str, Any] = {"string": "x", "integer": 0, "boolean": False, "number": 0}

each_tool = pytest.mark.parametrize("definition", TOOLS, ids=[one.tool.name for one in TOOLS])


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


def _call(definition: ToolDefinition[Any], sandbox: str = "sb_none") -> dict[str, Any]:
    """The call of a tool with all that its schema requires, and no wait."""
    schema = definition.schema()
    given = {
        name: VALUES[schema["properties"][name]["type"]] for name in schema.get("required", ())
    }
    if "sandbox" in given:
        given["sandbox"] = sandbox
    if "command" in schema["properties"]:
        given["command"] = "true"
    if "seconds" in schema["properties"]:
        given["seconds"] = 0
    params = {"name": definition.tool.name, "arguments": given}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def _sandbox(client: httpx.AsyncClient) -> str:
    made = await client.post("/v1/sandboxes?wait=ready", json={"name": "secret-name"})
    return str(made.json()["sandbox_id"])


async def _token(atoll: World, **body: object) -> dict[str, Any]:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/auth/pat", json={"name": "ci", **body})
    assert made.status_code == 201, made.text
    shown: dict[str, Any] = made.json()
    return shown


async def _posted(client: httpx.AsyncClient, body: dict[str, Any]) -> httpx.Response:
    return await client.post("/mcp", json=body, headers=ACCEPT)


async def _called(client: httpx.AsyncClient, body: dict[str, Any]) -> list[httpx.Response]:
    """The answers to a request without a word of the revision, and in both eras."""
    method, params = body["method"], body["params"]
    modern = headers_of(MODERN, method, params["name"])
    return [
        await _posted(client, body),
        await client.post("/mcp", json=body, headers=headers_of(LEGACY)),
        await client.post("/mcp", json=body_of(MODERN, method, **params), headers=modern),
    ]


async def _answers(client: httpx.AsyncClient, body: dict[str, Any]) -> list[httpx.Response]:
    """The answers to a request that nobody may send, and to one for the stream of each era."""
    listening = headers_of(MODERN, LISTEN)
    return [
        *await _called(client, body),
        await client.get("/mcp", headers=headers_of(LEGACY)),
        await client.post("/mcp", json=LISTENED, headers=listening),
    ]


@each_tool
async def test_without_the_permission_a_tool_is_not_listed_and_forbidden(
    atoll: World, definition: ToolDefinition[Any]
) -> None:
    others = sorted(EVERY_CAPABILITY - {definition.tool.permission})
    made = await _token(atoll, capabilities=others)
    async with client_of(atoll.url, made["token"]) as client:
        found = await _called(client, _call(definition))
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        listed = (await _posted(client, listing)).json()["result"]["tools"]
    results = [one.json()["result"] for one in found]
    assert all(one["isError"] for one in results)
    told = [one["structuredContent"] for one in results]
    assert {one["code"] for one in told} == {"forbidden"}
    needs = f"{definition.tool.name} needs the permission {definition.tool.permission}, "
    assert all(one["message"].startswith(needs) for one in told)
    assert definition.tool.name not in {one["name"] for one in listed}


@each_tool
async def test_another_organization_sees_nothing(
    atoll: World, definition: ToolDefinition[Any]
) -> None:
    team = Team(atoll)
    await team.organization("personal")
    await team.organization("other")
    await team.join("eve", OrgRole.ADMIN, org="other")
    async with team.client() as owner:
        sandbox = await _sandbox(owner)
    async with team.client("eve") as eve:
        call = _call(definition, sandbox)
        told = (await _posted(eve, call)).json()["result"]
    if "sandbox" in call["params"]["arguments"]:
        assert told["structuredContent"]["code"] == "not_found"
    else:
        assert sandbox not in json.dumps(told)
    assert "secret-name" not in json.dumps(told)


@each_tool
async def test_guest_finds_no_tools(atoll: World, definition: ToolDefinition[Any]) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        sandbox = await _sandbox(client)
        share = {"role": "viewer"}
        made = await client.post(f"/v1/sandboxes/{sandbox}/shares", json=share)
        assert made.status_code == 201, made.text
        ticket = made.json()["link"].partition("#share=")[2]
    async with client_of(atoll.url) as client:
        entered = await client.post("/auth/guests", json={"ticket": ticket, "name": "Mallory"})
        cookie = entered.cookies["atoll_guest"]
        key = atoll.services.logins.page_key(cookie)
        headers = {"Cookie": f"atoll_guest={cookie}", PAGE_KEY: key, "Origin": atoll.url}
        client.headers.update(headers)
        found = await _answers(client, _call(definition, sandbox))
    assert [one.status_code for one in found] == [404] * 5


@each_tool
async def test_token_of_a_sandbox_reads_nothing_of_another(
    atoll: World, definition: ToolDefinition[Any]
) -> None:
    async with client_of(atoll.url, atoll.token) as owner:
        foreign = await _sandbox(owner)
        own = await owner.post("/v1/sandboxes?wait=ready", json={"name": "own"})
    made = await _token(atoll, sandbox_id=own.json()["sandbox_id"])
    call = _call(definition, foreign)
    read = {"jsonrpc": "2.0", "id": 1, "method": "resources/read"}
    async with client_of(atoll.url, made["token"]) as client:
        told = (await _posted(client, call)).json()
        seen = (await _posted(client, {**read, "params": {"uri": "atoll://sandbox/*"}})).json()
        one = (
            await _posted(client, {**read, "params": {"uri": f"atoll://sandbox/{foreign}"}})
        ).json()
        call["params"]["arguments"]["stream"] = f"sandbox:{foreign}"
        asked = (await _posted(client, call)).json()
    # No token that a person makes has the permission to act upon children.
    hidden = definition.tool.inside in (None, Capability.SANDBOX_CHILDREN)
    shown = told["result"].get("structuredContent") or {}
    assert (shown.get("code") == "forbidden") is hidden
    assert foreign not in json.dumps([told, seen])
    assert "secret-name" not in json.dumps([told, seen, one, asked])
    assert one["error"]["code"] == -32002
    refused = "forbidden" if hidden else "not_found"
    assert asked["result"]["structuredContent"]["code"] == refused


@each_tool
async def test_expired_token_calls_nothing(atoll: World, definition: ToolDefinition[Any]) -> None:
    made = await _token(atoll)
    async with client_of(atoll.url, made["token"]) as client:
        held = (await client.post("/auth/token", json={"ttl": 60})).json()["access_token"]
    atoll.clock.at += timedelta(hours=25)
    async with client_of(atoll.url, held) as client:
        found = await _answers(client, _call(definition))
    assert [one.status_code for one in found] == [401] * 5


async def test_streams_of_an_expired_token_end_within_five_seconds(atoll: World) -> None:
    made, opened = await _token(atoll), [asyncio.Event(), asyncio.Event()]
    async with client_of(atoll.url, made["token"]) as client:
        held = (await client.post("/auth/token", json={"ttl": 60})).json()["access_token"]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_stand(atoll, held, opened[0]))
        tasks.create_task(_listen(atoll, held, opened[1]))
        async with asyncio.timeout(10):
            await asyncio.gather(*(one.wait() for one in opened))
        atoll.clock.at += timedelta(hours=25)


async def test_streams_of_a_revoked_token_end_within_five_seconds(atoll: World) -> None:
    """One token for each tool, with its permission: its standing stream and its listening end."""
    async with asyncio.TaskGroup() as tasks:
        for definition in TOOLS:
            tasks.create_task(_revoked_amid(atoll, definition))


async def _revoked_amid(atoll: World, definition: ToolDefinition[Any]) -> None:
    wanted = sorted({definition.tool.permission, Capability.EVENT_READ})
    made = await _token(atoll, capabilities=wanted)
    opened = [asyncio.Event(), asyncio.Event()]
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_stand(atoll, made["token"], opened[0]))
        tasks.create_task(_listen(atoll, made["token"], opened[1]))
        async with asyncio.timeout(10):
            await asyncio.gather(*(one.wait() for one in opened))
        async with client_of(atoll.url, atoll.token) as owner:
            assert (await owner.delete(f"/v1/tokens/{made['id']}")).status_code < 300
    async with client_of(atoll.url, made["token"]) as client:
        found = await _answers(client, _call(definition))
    assert [one.status_code for one in found] == [401] * 5


async def _stand(atoll: World, token: str, opened: asyncio.Event) -> None:
    about = {"protocolVersion": "2025-11-25", "capabilities": {}}
    client_info = {"clientInfo": {"name": "a test", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**about, **client_info}}
    async with client_of(atoll.url, token) as client:
        session = (await _posted(client, begin)).headers["mcp-session-id"]
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": session}
        async with client.stream("GET", "/mcp", headers=headers) as answer:
            await _until_cut(answer, opened)


async def _listen(atoll: World, token: str, opened: asyncio.Event) -> None:
    headers = headers_of(MODERN, LISTEN)
    async with (
        client_of(atoll.url, token) as client,
        client.stream("POST", "/mcp", json=LISTENED, headers=headers) as answer,
    ):
        await _until_cut(answer, opened)


async def _until_cut(answer: httpx.Response, opened: asyncio.Event) -> None:
    assert answer.status_code == 200, await answer.aread()
    parts = answer.aiter_bytes()
    assert await anext(parts)
    opened.set()
    async with asyncio.timeout(5):
        try:
            async for _ in parts:
                pass
        except httpx.RemoteProtocolError:
            return
