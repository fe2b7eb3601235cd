import json
from typing import Any

import pytest

from tests.surfaces.http.world import World, client_of, world

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a test", "version": "1"},
    },
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


async def _post(
    atoll: World, body: Any, *, token: str | None = None, **headers: str
) -> tuple[int, dict[str, str], Any]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with client_of(atoll.url, token or atoll.token) as client:
        told = {"Content-Type": "application/json", **ACCEPT, **headers}
        answer = await client.post("/mcp", content=content, headers=told)
    return answer.status_code, dict(answer.headers), answer.text and answer.json()


async def test_request_without_a_login_learns_where_to_ask(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        answer = await client.post("/mcp", json=LIST, headers=ACCEPT)
        challenge = answer.headers["www-authenticate"]
        place = challenge.partition('resource_metadata="')[2].rstrip('"')
        told = (await client.get(place)).json()
    assert answer.status_code == 401
    assert told["resource"] == f"{atoll.url}/mcp"


async def test_client_behind_a_proxy_learns_the_address_of_the_proxy() -> None:
    """Which speaks TLS: a client compares the resource with the address that it called."""
    public = "https://atoll.example.com"
    async with world(public_url=public) as atoll, client_of(atoll.url) as client:
        named = {**ACCEPT, "Host": "atoll.example.com"}
        answer = await client.post("/mcp", json=LIST, headers=named)
        path = "/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{public}{path}"' in answer.headers["www-authenticate"]
        assert (await client.get(path, headers=named)).json()["resource"] == f"{public}/mcp"
        assert (await client.get(path)).json()["resource"] == f"{atoll.url}/mcp"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_every_revision_with_a_handshake_is_spoken(atoll: World, version: str) -> None:
    body = {**INITIALIZE, "params": {**INITIALIZE["params"], "protocolVersion": version}}  # type: ignore[dict-item]
    status, headers, told = await _post(atoll, body)
    assert status == 200
    assert told["result"]["protocolVersion"] == version
    assert told["result"]["capabilities"]["tools"] == {"listChanged": True}
    session = {"Mcp-Session-Id": headers["mcp-session-id"], "MCP-Protocol-Version": version}
    status, _, listed = await _post(atoll, LIST, **session)
    assert status == 200
    assert listed["result"]["tools"]


async def test_session_is_bound_to_its_credential(atoll: World) -> None:
    _, headers, _ = await _post(atoll, INITIALIZE)
    session = headers["mcp-session-id"]
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/auth/pat", json={"name": "other"})
    other = made.json()["token"]
    assert (await _post(atoll, LIST, token=other, **{"Mcp-Session-Id": session}))[0] == 404
    assert (await _post(atoll, LIST, **{"Mcp-Session-Id": session}))[0] == 200
    assert (await _post(atoll, LIST, **{"Mcp-Session-Id": session[:-2] + "xx"}))[0] == 404
    assert (await _post(atoll, LIST, **{"Mcp-Session-Id": atoll.token}))[0] == 404


async def test_request_without_a_session_is_answered(atoll: World) -> None:
    assert (await _post(atoll, LIST))[0] == 200


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"[" * 1_000_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":' + b'{"a":' * 500_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":3}', 400),
        (b"\xff\xfe", 400),
        (b" " * (4 * 1024 * 1024 + 1), 413),
    ],
)
async def test_hostile_bodies_are_answered(atoll: World, body: bytes, status: int) -> None:
    found, _, told = await _post(atoll, body)
    assert found == status
    assert "Traceback" not in json.dumps(told)
    assert len(json.dumps(told)) < 2000


async def test_unknown_tool_and_method_are_errors_of_the_protocol(atoll: World) -> None:
    call = {**LIST, "method": "tools/call", "params": {"name": "no.tool", "arguments": {}}}
    _, _, told = await _post(atoll, call)
    assert told["error"]["code"] == -32602
    _, _, told = await _post(atoll, {**LIST, "method": "no/method"})
    assert told["error"]["code"] == -32601


async def test_page_of_elsewhere_is_refused(atoll: World) -> None:
    status, _, _ = await _post(atoll, LIST, Origin="https://evil.example")
    assert status == 403
    status, _, _ = await _post(atoll, LIST, Host="evil.example")
    assert status == 421
