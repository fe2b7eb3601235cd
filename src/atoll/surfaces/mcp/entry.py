"""The entry of MCP over HTTP (`/mcp`): an ASGI app that loads the SDK when it is wanted.

The SDK would keep sessions in the memory of one process. Here a session is its signed id: the SDK
answers each request by itself, and this entry gives and checks the ids.
"""

import asyncio
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from atoll.domain.errors import Invalid
from atoll.domain.event import last_event_position
from atoll.domain.people.principal import Principal
from atoll.services.application import Application
from atoll.services.tools.mcp_sessions import SessionClaims
from atoll.services.tools.watches import check_reader
from atoll.surfaces.mcp.bodies import (
    MAX_BODY_BYTES,
    BodyReader,
    Refusal,
    is_short,
    method_of,
    refuse,
)
from atoll.surfaces.mcp.definition import Namespace
from atoll.surfaces.mcp.offering import CallerNow, McpClient, Offering, check_address, is_home
from atoll.surfaces.mcp.open_streams import OpenStreams
from atoll.surfaces.mcp.standing import ChangeStream

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

SESSION: Final = "mcp-session-id"
VERSION: Final = "mcp-protocol-version"
HANDSHAKE_VERSIONS: Final = frozenset({"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"})
"""The revisions with sessions; later ones have none."""

AFTER_START_SECONDS: Final = 0.5
"""The wait before the SDK is loaded for a sandbox, whose start would be slower for it."""

_OLDEST = "2024-11-05"


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The tools, and the SDK's server of them."""

    manager: "StreamableHTTPSessionManager"
    offering: Offering


class McpEntry:
    """The ASGI app of `/mcp`. `run` has to run for it to answer. `more` are namespaces beside those
    of this installation."""

    def __init__(
        self, atoll: Application, *, version: str, more: tuple[Namespace, ...] = ()
    ) -> None:
        self._atoll = atoll
        self._version = version
        self._more = more
        self._wanted = asyncio.Event()
        self._loaded: asyncio.Future[_Loaded] | None = None
        self._streams = OpenStreams()
        self._bodies = BodyReader(self._bytes_of)

    def end(self) -> None:
        """End the streams that answer a request, in order: the server ends."""
        self._streams.end()

    async def run(self) -> None:
        """Load the SDK, and serve until cancelled. It is loaded once somebody asks or a sandbox has
        access to tools: some agents go on without tools that are not there at once."""
        self._loaded = asyncio.get_running_loop().create_future()
        async with asyncio.TaskGroup() as tasks:
            expecting = tasks.create_task(self._expect())
            await self._wanted.wait()
            expecting.cancel()
        loaded = await asyncio.to_thread(self._load)
        async with loaded.manager.run():
            self._loaded.set_result(loaded)
            await asyncio.get_running_loop().create_future()

    async def _expect(self) -> None:
        """Want the SDK a while after a sandbox has access to tools."""
        await self._atoll.tools.lent.wait()
        await asyncio.sleep(AFTER_START_SECONDS)
        self._wanted.set()

    def _load(self) -> _Loaded:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from atoll.surfaces.mcp.server import mcp_server
        from atoll.surfaces.mcp.toolbox import toolbox

        offering = Offering(self._atoll, toolbox(self._more))
        manager = StreamableHTTPSessionManager(
            mcp_server(offering, self._streams, version=self._version),
            json_response=True,
            stateless=True,
            max_request_body_size=MAX_BODY_BYTES,
        )
        return _Loaded(manager, offering)

    def _bytes_of(self, tool: str) -> int:
        """Return the most bytes of a call of a tool. Before the tools are loaded, a call may be as
        long as any: it is the one that has them loaded."""
        if self._loaded is None or not self._loaded.done():
            return MAX_BODY_BYTES
        found = self._loaded.result().offering.find(tool)
        return 0 if found is None else min(MAX_BODY_BYTES, found.most_bytes())

    async def _server(self) -> _Loaded:
        if self._loaded is None:
            raise RuntimeError("the entry of MCP does not run")
        self._wanted.set()
        return await asyncio.shield(self._loaded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. The guard has authenticated its caller."""
        check_address(QueryParams(scope["query_string"]))
        headers, state = Headers(scope=scope), scope["state"]
        state["caller"] = await self._bind_to_sandbox(scope, state["caller"])
        state["caller_now"] = partial(self._bound_now, scope, state["caller_now"])
        state["mcp_session"], body = None, b""
        if scope["method"] == "POST":
            long = not is_short(headers)
            counted = self._atoll.tools.calls.counted_reading(state["caller"], long=long)
            try:
                body = await self._bodies.read(headers, receive, counted)
            except Refusal as refused:
                await refused.answer(scope, receive, send)
                return
            receive = _replay_body(body, receive)
        if headers.get(VERSION, _OLDEST) in HANDSHAKE_VERSIONS:
            await self._handshake(body, scope, receive, send)
            return
        loaded = await self._server()
        await loaded.manager.handle_request(scope, receive, send)

    async def _handshake(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of a revision with a handshake."""
        named, state = Headers(scope=scope).get(SESSION), scope["state"]
        if named is not None:
            found = await self._atoll.tools.sessions.find(state["caller"], named)
            if found is None:
                await refuse(404, "Session not found")(scope, receive, send)
                return
            state["mcp_session"] = found
        match scope["method"]:
            case "POST":
                await self._post(body, scope, receive, send)
            case "GET" if named is not None:
                await self._stream(scope, receive, send)
            case "DELETE" if named is not None:
                await self._atoll.tools.sessions.end(state["mcp_session"])
                await Response(status_code=204)(scope, receive, send)
            case _:
                refused = refuse(405, "Method Not Allowed")
                refused.headers["Allow"] = "GET, POST, DELETE"
                await refused(scope, receive, send)

    async def _bound_now(self, scope: Scope, caller_now: CallerNow) -> Principal | None:
        current = await caller_now()
        return None if current is None else await self._bind_to_sandbox(scope, current)

    async def _bind_to_sandbox(self, scope: Scope, caller: Principal) -> Principal:
        """Return the caller, bounded to the sandbox that the query names. Raises `NotFound`."""
        named = QueryParams(scope["query_string"]).get("sandbox")
        return caller if named is None else await self._atoll.tools.lists.bound(caller, named)

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the standing stream of a session: the URIs that it watches, as they change.
        Each has the position in the log as its id, from which a client goes on."""
        headers = Headers(scope=scope)
        if "text/event-stream" not in headers.get("accept", ""):
            refused = refuse(406, "Not Acceptable: Client must accept text/event-stream")
            await refused(scope, receive, send)
            return
        client, tools = _client(scope), self._atoll.tools
        session: SessionClaims = scope["state"]["mcp_session"]
        offering = (await self._server()).offering
        # Here, while the answer can still say so.
        check_reader(client.caller)
        try:
            after = last_event_position(headers.get("last-event-id", ""))
        except Invalid as error:
            await refuse(400, f"Bad Request: {error.message}")(scope, receive, send)
            return
        changes = tools.watches.follow_session(client.caller, session, after=after)
        lists = offering.changes(client, session.tools)
        with self._streams.counted(client.caller):
            stream = ChangeStream(changes, lists, partial(tools.sessions.until_ended, session))
            await stream(scope, receive, send)

    async def _post(self, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        method = method_of(body)
        loaded = await self._server()
        extra: list[tuple[bytes, bytes]] = []
        if method == "initialize":
            client = _client(scope)
            mark = await loaded.offering.mark(client.caller, home=client.home)
            session = await self._atoll.tools.sessions.begin(client.caller, mark)
            extra = [(SESSION.encode(), session.encode())]
        await loaded.manager.handle_request(
            _without_session(scope), receive, _with_headers(send, extra)
        )


def _client(scope: Scope) -> McpClient:
    state = scope["state"]
    return McpClient(
        state["caller"], state["caller_now"], is_home(QueryParams(scope["query_string"]))
    )


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read, then what follows."""
    first = [True]

    async def replay() -> Message:
        if first:
            first.clear()
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return replay


def _without_session(scope: Scope) -> MutableMapping[str, Any]:
    """Return a scope without the session's id, which was checked here."""
    headers = [one for one in scope["headers"] if one[0] != SESSION.encode()]
    return {**scope, "headers": headers}


def _with_headers(send: Send, extra: list[tuple[bytes, bytes]]) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 400:
            message = {**message, "headers": [*message.get("headers", ()), *extra]}
        await send(message)

    return send_with_headers
