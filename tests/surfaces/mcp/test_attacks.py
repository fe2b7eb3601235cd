"""Clients of `/mcp` that send what no honest one sends."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from mcp_types import TextContent

from atoll.domain.event import Json
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.journals.events import Note
from atoll.services.tools.tool_calls import LONG_AT_ONCE
from atoll.services.tools.watches import Change
from atoll.surfaces.mcp.bodies import MAX_BODY_BYTES
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conftest import Connect, Era
from tests.surfaces.mcp.requests import LEGACY, MODERN, body_of, call_of, headers_of
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


each_version = pytest.mark.parametrize("version", [LEGACY, MODERN])
CALLED = {"method": "tools/call", "name": "events.recent"}


async def _sent(atoll: World, content: bytes, headers: dict[str, str]) -> httpx.Response:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.post("/mcp", content=content, headers=headers)
    assert "Traceback" not in answer.text and len(answer.text) < 40_000
    return answer


NO_REQUESTS = [
    (b"", -32700),
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b"[" * 1_000_000 + b"]" * 1_000_000, -32700),
    (b"[]", -32600),
    (json.dumps([body_of(LEGACY, "tools/list")] * 2).encode(), -32600),
    (json.dumps([body_of(MODERN, "tools/list")] * 2).encode(), -32600),
    (b'{"jsonrpc":"2.0","id":1,"method":3}', -32600),
    (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600),
    (b'{"id":1}', -32600),
    (b"3", -32600),
]
"""Bodies with the code of JSON-RPC for each."""


@each_version
async def test_what_is_no_request_is_a_typed_error(atoll: World, version: str) -> None:
    # To clients with a handshake the SDK says that parameters are wrong, not the request.
    spelled = {-32600: -32602} if version == LEGACY else {}
    for content, code in NO_REQUESTS:
        answer = await _sent(atoll, content, headers_of(version, "tools/list"))
        assert answer.status_code == 400, content[:100]
        assert answer.json()["error"]["code"] == spelled.get(code, code), content[:100]


@each_version
@pytest.mark.parametrize(("opens", "core", "closes"), [("[", "", "]"), ('{"a":', "1", "}")])
async def test_deep_arguments_are_a_typed_error(
    atoll: World, version: str, opens: str, core: str, closes: str
) -> None:
    for depth in (100, 900, 5000, 600_000, 1_000_000):
        inner = opens * depth + core + closes * depth
        content = call_of(version, "events.recent", f'{{"after":{inner}}}')
        answer = await _sent(atoll, content, headers_of(version, **CALLED))
        if len(content) > MAX_BODY_BYTES:
            assert answer.status_code == 413
            assert answer.json()["error"]["code"] == -32600
        elif answer.status_code == 200:
            assert answer.json()["result"]["structuredContent"]["code"] == "invalid"
        else:
            assert answer.json()["error"]["code"] in {-32700, -32600, -32602}, depth


@pytest.mark.parametrize(
    "changed",
    [
        {"Mcp-Method": "tools/list"},
        {"Mcp-Method": "Tools/Call"},
        {"Mcp-Method": ""},
        {"Mcp-Name": "atoll.list"},
        {"Mcp-Name": "events_recent"},
        {"Mcp-Name": ""},
        {"MCP-Protocol-Version": "2026-07-29"},
    ],
)
async def test_headers_and_body_that_disagree_are_refused(
    atoll: World, changed: dict[str, str]
) -> None:
    content = call_of(MODERN, "events.recent", "{}")
    answer = await _sent(atoll, content, headers_of(MODERN, **CALLED) | changed)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] in {-32020, -32022}
    async with client_of(atoll.url, atoll.token) as http:
        found = (await http.get("/v1/events", params={"stream": "tools"})).json()["events"]
    assert found == []


async def test_body_of_the_newest_revision_under_an_older_header_is_no_session(
    atoll: World,
) -> None:
    content = call_of(MODERN, "atoll.list", "{}")
    answer = await _sent(atoll, content, headers_of(LEGACY))
    # The header decides; the body is a call as any other, by the same token.
    assert answer.json()["result"]["structuredContent"] == {"sandboxes": [], "next": None}


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
async def test_session_of_another_credential_is_not_found(atoll: World, method: str) -> None:
    async with session(atoll) as one:
        async with client_of(atoll.url, atoll.token) as client:
            made = await client.post("/auth/pat", json={"name": "other"})
        body = json.dumps(body_of(LEGACY, "tools/list")).encode() if method == "POST" else b""
        async with client_of(atoll.url, made.json()["token"]) as thief:
            headers = {**one.headers, "Content-Type": "application/json"}
            answer = await thief.request(method, "/mcp", content=body, headers=headers)
        assert answer.status_code == 404
        assert answer.json()["error"]["code"] == -32600
        assert "error" not in await one.ask("tools/list")


@each_version
async def test_body_of_another_kind_is_a_typed_error(atoll: World, version: str) -> None:
    content = call_of(version, "events.recent", "{}")
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = headers_of(version, **CALLED) | {"Content-Type": kind}
        answer = await _sent(atoll, content, headers)
        assert answer.status_code == 415
        assert answer.json()["error"]["code"] == -32600


@each_version
async def test_stream_that_is_never_read_costs_bounded_memory(
    atoll: World, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Far more than all buffers hold would be made within a second, did nothing stop it."""
    made, too_much = 0, asyncio.Event()
    uris = tuple(f"atoll://hr/{'x' * 400}/{number}" for number in range(200))

    async def endless(*_: object, **__: object) -> AsyncIterator[Change]:
        nonlocal made
        while True:
            made += 1
            if made > MANY:
                too_much.set()
            yield Change(uris, made)

    monkeypatch.setattr(atoll.services.tools.watches.__class__, "follow_session", endless)
    monkeypatch.setattr(atoll.services.tools.watches.__class__, "follow_uris", endless)
    async with session(atoll) as one:
        head = _stream_head(atoll, version, one.headers["Mcp-Session-Id"])
        with socket.socket() as silent:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.setblocking(False)
            loop = asyncio.get_running_loop()
            host, _, port = atoll.host.partition(":")
            await loop.sock_connect(silent, (host, int(port)))
            await loop.sock_sendall(silent, head)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(2):
                    await too_much.wait()
    assert 0 < made <= MANY


MANY = 400
"""Changes of 90 kB each: more than a connection's buffers in the kernel hold."""


def _stream_head(atoll: World, version: str, session_id: str) -> bytes:
    """A request for a stream of this era, as bytes."""
    headers = headers_of(version, "subscriptions/listen", Host=atoll.host)
    headers["Authorization"] = f"Bearer {atoll.token}"
    if version == LEGACY:
        headers["Mcp-Session-Id"] = session_id
        verb, body = "GET", b""
    else:
        wanted = {"resourceSubscriptions": ["atoll://hr/*"]}
        asked = body_of(MODERN, "subscriptions/listen", notifications=wanted)
        verb, body = "POST", json.dumps(asked).encode()
    headers["Content-Length"] = str(len(body))
    lines = [f"{verb} /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@each_version
@pytest.mark.parametrize("piece", ["[]", '{"":{}}', '""', "{}", "1"])
async def test_body_of_many_values_is_refused_before_it_is_parsed(
    atoll: World, version: str, piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = f'{{"after":[{",".join([piece] * (1_900_000 // (len(piece) + 1)))}]}}'
    content = call_of(version, "events.recent", arguments)
    # Whoever parses it makes a value of each.
    monkeypatch.setattr("json.loads", None)
    answer = await _sent(atoll, content, headers_of(version, **CALLED))
    monkeypatch.undo()
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)


@each_version
async def test_refusal_repeats_little_of_what_came(atoll: World, version: str) -> None:
    content = call_of(version, "atoll.list", json.dumps({"a" * 60_000: 1}))
    answer = await _sent(atoll, content, headers_of(version, "tools/call", "atoll.list"))
    assert answer.json()["result"]["structuredContent"]["code"] == "invalid"
    assert len(answer.content) < 10_000


@each_version
async def test_call_is_as_long_as_its_tools_arguments_may_be(atoll: World, version: str) -> None:
    for tool, size, status in (
        ("events.recent", 100_000, 413),
        ("atoll.exec", 600_000, 200),
        ("atoll.exec", 1_000_000, 413),
        ("atoll.write", 1_000_000, 200),
        ("nothing.there", 100_000, 413),
    ):
        arguments = json.dumps({"sandbox": "none", "text": "x" * size})
        headers = headers_of(version, "tools/call", tool)
        await _sent(atoll, call_of(version, "events.recent", "{}"), headers_of(version, **CALLED))
        answer = await _sent(atoll, call_of(version, tool, arguments), headers)
        assert answer.status_code == status, (tool, size)


async def test_requests_are_counted_before_they_are_read(atoll: World) -> None:
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {atoll.token}\r\nContent-Length: 1000000\r\n\r\n"
    )
    host, _, port = atoll.host.partition(":")
    answers: asyncio.Queue[bytes] = asyncio.Queue()

    async def send_half() -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            writer.write(head.encode() + b"[" * 100_000)
            answers.put_nowait(await reader.readline())
        finally:
            writer.close()

    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        half = [tasks.create_task(send_half()) for _ in range(LONG_AT_ONCE + 1)]
        assert await answers.get() == b"HTTP/1.1 429 Too Many Requests\r\n"
        assert answers.empty()
        for one in half:
            one.cancel()


async def test_short_requests_of_one_caller_are_all_answered_at_once(atoll: World) -> None:
    """As those of a person's clients that come back after a restart."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}}
    named = {"clientInfo": {"name": "script", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**params, **named}}
    body = json.dumps(message).encode()
    head = (
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        f"Authorization: Bearer {atoll.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    host, _, port = atoll.host.partition(":")
    lines = [await asyncio.open_connection(host, int(port)) for _ in range(4 * LONG_AT_ONCE)]
    async with asyncio.timeout(30):
        for _, writer in lines:
            writer.write(head.encode() + body[:10])
            await writer.drain()
        for _, writer in lines:
            writer.write(body[10:])
        said = {await reader.readline() for reader, _ in lines}
    for _, writer in lines:
        writer.close()
    assert said == {b"HTTP/1.1 200 OK\r\n"}
