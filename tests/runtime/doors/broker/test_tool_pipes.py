"""The stdio way at the broker door: lines of JSON-RPC over an upgraded connection."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from atoll.domain.broker.passage import Refusal
from atoll.runtime.doors.broker.exchange import Requester
from atoll.runtime.doors.broker.request import BrokerRequest
from atoll.runtime.doors.broker.tools import pipe as pipe_module
from atoll.runtime.doors.broker.tools import session, tool_requests
from atoll.runtime.doors.broker.tools.pipe import MAX_REQUESTS
from atoll.runtime.doors.broker.tools.service import MAX_CLIENTS
from atoll.runtime.tasks import Tasks
from atoll.wire.contract.policy import Policy, ToolAccess
from atoll.wire.mcp.lines import MAX_LINE_BYTES
from tests.claims import free_port
from tests.peers.broker import Door, broker_door
from tests.runtime.doors.broker.test_broker import serving
from tests.runtime.doors.broker.test_tools_door import TOKEN

Json = dict[str, Any]
UPGRADE = b"GET /mcp%b HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: atoll-mcp\r\n\r\n"
HANDSHAKE = {"jsonrpc": "2.0", "id": "i", "method": "initialize",
             "params": {"protocolVersion": "2025-11-25"}}  # fmt: skip
CHANGED = {
    "jsonrpc": "2.0",
    "method": "notifications/resources/updated",
    "params": {"uri": "a://b"},
}


@dataclass
class Server:
    """A control plane that gives sessions, forgets them, and echoes what it is sent."""

    seen: list[tuple[Json, dict[str, str]]] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    hold: asyncio.Event | None = None
    asked: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    left: asyncio.Queue[None] = field(default_factory=asyncio.Queue)
    streams: asyncio.Queue[web.StreamResponse] = field(default_factory=asyncio.Queue)

    @property
    def methods(self) -> list[str]:
        return [body.get("method", "") for body, _ in self.seen]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        named = request.headers.get("Mcp-Session-Id")
        if named is not None and named not in self.sessions:
            error = {"code": -32600, "message": "Session not found"}
            return web.json_response({"jsonrpc": "2.0", "id": None, "error": error}, status=404)
        if request.method == "GET":
            return await self._stream(request)
        body = json.loads(await request.read())
        self.seen.append((body, dict(request.headers)))
        return await self._result(body, request)

    async def _result(self, body: Json, request: web.Request) -> web.StreamResponse:
        if "id" not in body:
            return web.Response(status=202)
        result: Json = {"echo": body.get("params")}
        headers = {}
        match body["method"]:
            case "initialize":
                # As long as a signed one.
                self.sessions.add(name := f"s.{len(self.seen)}." + "x" * 500)
                result, headers = {"protocolVersion": "2025-11-25"}, {"Mcp-Session-Id": name}
            case "subscriptions/listen":
                return await self._stream(request)
            case "slow" if self.hold is not None:
                self.asked.put_nowait(None)
                try:
                    await self.hold.wait()
                except asyncio.CancelledError:
                    self.left.put_nowait(None)
                    raise
            case "refused":
                error = {"code": -32602, "message": "no"}
                told = {"jsonrpc": "2.0", "id": body["id"], "error": error}
                return web.json_response(told, status=400)
            case _:
                pass
        told = {"jsonrpc": "2.0", "id": body["id"], "result": result}
        return web.Response(text=json.dumps(told, indent=1), headers=headers)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response["last"] = request.headers.get("Last-Event-Id")
        await response.prepare(request)
        self.streams.put_nowait(response)
        try:
            while True:
                await asyncio.sleep(0.05)
                await response.write(b": ping\n\n")
        except OSError:
            return response


@dataclass
class Pipe:
    """A client at the door."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def send(self, *messages: Json) -> None:
        self.writer.write(b"".join(json.dumps(one).encode() + b"\n" for one in messages))

    async def line(self) -> Json:
        async with asyncio.timeout(20):
            told: Json = json.loads(await self.reader.readuntil(b"\n"))
            return told

    async def call(self, number: int, method: str = "tools/list", **params: object) -> Json:
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return await self.line()


async def ended(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


@dataclass
class World:
    server: Server
    door: Door
    url: str

    def grant(self, revision: int, url: str = "") -> None:
        access = ToolAccess(base_url=url or self.url, token=TOKEN, ends_at=time.time() + 60)
        self.door.policy.replace(Policy(revision=revision, tools=access))

    @asynccontextmanager
    async def pipe(self, query: bytes = b"") -> AsyncIterator[Pipe]:
        """A pipe, whose upgrade the door agreed to."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.door.port)
        writer.write(UPGRADE % query)
        assert b" 101 " in await reader.readuntil(b"\r\n\r\n")
        try:
            yield Pipe(reader, writer)
        finally:
            await ended(writer)


@pytest.fixture
async def at(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    monkeypatch.setattr(session, "RETRY_SECONDS", 0.01)
    server = Server()
    app = web.Application(client_max_size=4 * MAX_LINE_BYTES)
    app.router.add_route("*", "/mcp", server.answer)
    async with serving(app) as url, broker_door() as door:
        world = World(server, door, url)
        world.grant(1)
        yield world


async def test_session_is_spoken_for_and_every_request_has_the_token(at: World) -> None:
    async with at.pipe(b"?names=flat") as pipe:
        # Sent at once: what follows a handshake waits for its session.
        pipe.send(HANDSHAKE, {"jsonrpc": "2.0", "method": "notifications/initialized"},
                  {"jsonrpc": "2.0", "id": 1, "method": "tools/list"})  # fmt: skip
        assert (await pipe.line())["result"] == {"protocolVersion": "2025-11-25"}
        assert (await pipe.line())["id"] == 1
    assert sorted(at.server.methods) == ["initialize", "notifications/initialized", "tools/list"]
    (_, first), *others = at.server.seen
    assert "Mcp-Session-Id" not in first
    for _, headers in others:
        assert headers["Mcp-Session-Id"].startswith("s.1.")
        assert headers["MCP-Protocol-Version"] == "2025-11-25"
    assert all(headers["Authorization"] == f"Bearer {TOKEN}" for _, headers in at.server.seen)
    assert len(at.door.audit) == 3 and TOKEN not in str(at.door.journal)


async def test_lost_session_is_begun_anew_unseen_and_watches_go_on(at: World) -> None:
    async with at.pipe() as pipe:
        pipe.send(HANDSHAKE)
        await pipe.line()
        assert "result" in await pipe.call(1, "resources/subscribe", uri="a://b")
        stream = await at.server.streams.get()
        await stream.write(b"id: 41\ndata: " + json.dumps(CHANGED).encode() + b"\n\n")
        assert await pipe.line() == CHANGED
        at.server.sessions.clear()
        assert (await pipe.call(2, "tools/call", name="x"))["result"]["echo"] == {"name": "x"}
        assert at.server.methods[2:] == [
            "initialize", "notifications/initialized", "resources/subscribe", "tools/call",
        ]  # fmt: skip
        assert at.server.seen[-1][1]["Mcp-Session-Id"] in at.server.sessions


async def test_stream_that_ends_is_opened_again_where_it_was(at: World) -> None:
    async with at.pipe() as pipe:
        pipe.send(HANDSHAKE)
        await pipe.line()
        await pipe.call(1, "resources/subscribe", uri="a://b")
        stream = await at.server.streams.get()
        await stream.write(b"id: 41\ndata: " + json.dumps(CHANGED).encode() + b"\n\n")
        await pipe.line()
        assert stream._req is not None and stream._req.transport is not None
        stream._req.transport.abort()
        again = await at.server.streams.get()
        assert again["last"] == "41"


async def test_request_without_session_names_its_revision_and_streams(at: World) -> None:
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    async with at.pipe() as pipe:
        told = await pipe.call(1, "tools/call", name="a.b", _meta=meta)
        assert told["id"] == 1
        headers = at.server.seen[-1][1]
        assert headers["MCP-Protocol-Version"] == "2026-07-28"
        assert (headers["Mcp-Method"], headers["Mcp-Name"]) == ("tools/call", "a.b")
        listen = {"jsonrpc": "2.0", "id": 2, "method": "subscriptions/listen",
                  "params": {"_meta": meta}}  # fmt: skip
        pipe.send(listen)
        stream = await at.server.streams.get()
        await stream.write(b"data: " + json.dumps(CHANGED).encode() + b"\n\n")
        assert await pipe.line() == CHANGED
        cancel = {"requestId": 2}
        pipe.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
        assert (await pipe.call(3))["id"] == 3


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"[" * 10**6, -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":' + b"[" * 10**6 + b"]" * 10**6 + b"}",
         -32700, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"a\\r\\nX-A: b"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"' + b"x" * MAX_LINE_BYTES + b'"}', -32600, None),
    ],
    ids=["cut", "no UTF-8", "deep", "deep within", "batch", "header", "id", "empty", "overlong"],
)  # fmt: skip
async def test_malformed_line_gets_a_typed_error_and_the_next_is_answered(
    at: World, line: bytes, code: int, number: int | None
) -> None:
    async with at.pipe() as pipe:
        pipe.writer.write(line + b"\n\n")
        told = await pipe.line()
        assert (told["error"]["code"], told["id"]) == (code, number)
        assert (await pipe.call(1))["id"] == 1
    assert at.server.methods == ["tools/list"]


async def test_refusal_of_the_server_and_of_the_door_are_errors_of_the_request(at: World) -> None:
    async with at.pipe() as pipe:
        assert (await pipe.call(1, "refused"))["error"] == {"code": -32602, "message": "no"}
        at.door.policy.replace(Policy(revision=2))
        told = await pipe.call(2)
        assert told["id"] == 2 and told["error"]["data"] == {"code": "not_found"}


async def test_request_waits_for_a_control_plane_that_is_away_and_is_sent_once(
    at: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at.pipe() as pipe:
        at.grant(2, f"http://127.0.0.1:{free_port()}")
        pipe.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        at.grant(3)
        assert (await pipe.line())["id"] == 1 and at.server.methods == ["tools/list"]
        monkeypatch.setattr(tool_requests, "WAIT_SECONDS", 0.2)
        at.grant(4, f"http://127.0.0.1:{free_port()}")
        assert (await pipe.call(2))["error"]["data"] == {"code": "upstream_unreachable"}
        assert at.server.methods == ["tools/list"]


async def test_end_of_input_is_the_end_once_all_is_answered(at: World) -> None:
    at.server.hold = asyncio.Event()
    calls = 3 * MAX_REQUESTS
    async with at.pipe() as pipe:
        pipe.send(*[{"jsonrpc": "2.0", "id": n, "method": "slow"} for n in range(calls - 1)])
        pipe.writer.write(b'{"jsonrpc":"2.0","id":%d,"method":"slow"}' % (calls - 1))
        pipe.writer.write_eof()
        for _ in range(MAX_REQUESTS):
            await at.server.asked.get()
        # A few are under way at a time; the rest is not even read.
        assert len(at.server.seen) == MAX_REQUESTS
        at.server.hold.set()
        numbers = {(await pipe.line())["id"] for _ in range(calls)}
        assert numbers == set(range(calls)) and await pipe.reader.read() == b""


async def test_client_that_leaves_ends_its_requests_and_frees_its_place(
    at: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipe_module, "END_SECONDS", 0.02)
    at.server.hold = asyncio.Event()
    for _ in range(MAX_CLIENTS + 1):
        async with at.pipe() as pipe:
            pipe.send({"jsonrpc": "2.0", "id": 1, "method": "slow"})
            await at.server.asked.get()
        # Nothing says that it does not read any more, but it is not waited for long.
        await at.server.left.get()


async def test_pipes_are_few(at: World) -> None:
    async with asyncio.TaskGroup() as group, asyncio.timeout(20):
        ready, enough = asyncio.Semaphore(0), asyncio.Event()

        async def stay() -> None:
            async with at.pipe():
                ready.release()
                await enough.wait()

        for _ in range(MAX_CLIENTS):
            group.create_task(stay())
        for _ in range(MAX_CLIENTS):
            await ready.acquire()
        reader, writer = await asyncio.open_connection("127.0.0.1", at.door.port)
        writer.write(UPGRADE % b"")
        assert b" 429 " in await reader.readuntil(b"\r\n\r\n")
        await ended(writer)
        enough.set()


class SlowReader:
    """A client's connection whose reader is slow."""

    def __init__(self) -> None:
        self.held = False
        self.ended = asyncio.Event()
        self.sent: list[bytes] = []

    def reply(self, refusal: Refusal) -> None:
        raise AssertionError(refusal)

    def reply_head(self, head: bytes, *, raw: bool) -> bytes:
        return head

    def reply_data(self, data: bytes) -> None:
        self.sent.append(data)

    def reply_end(self, *, close: bool) -> None:
        self.ended.set()

    def drop(self) -> None:
        self.ended.set()

    def hold(self, paused: bool) -> None:
        self.held = paused


async def test_nothing_is_begun_nor_read_while_the_client_does_not_read() -> None:
    client, begun = SlowReader(), list[BrokerRequest]()

    def begin(request: BrokerRequest, _: Requester) -> Refusal:
        begun.append(request)
        return Refusal(429, "limit_reached", "enough")

    async with Tasks() as tasks:
        pipe = pipe_module.ToolPipe(client, begin, "/mcp", tasks.spawn)
        pipe.answer_hold(True)
        pipe.raw(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n{\n')
        assert client.held and not begun and not client.sent
        pipe.answer_hold(False)
        pipe.input_ended()
        async with asyncio.timeout(10):
            await client.ended.wait()
    assert len(begun) == 1 and len(client.sent) == 2 and not client.held


async def test_upgrade_is_refused_where_the_profile_gives_no_tools(at: World) -> None:
    at.door.policy.replace(Policy(revision=2))
    reader, writer = await asyncio.open_connection("127.0.0.1", at.door.port)
    writer.write(UPGRADE % b"")
    assert b" 404 " in await reader.readuntil(b"\r\n\r\n")
    await ended(writer)


async def test_bytes_before_the_upgrade_is_agreed_to_end_the_connection(at: World) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", at.door.port)
    writer.write((UPGRADE % b"") + b"{}\n")
    assert await reader.read() == b""
    await ended(writer)
