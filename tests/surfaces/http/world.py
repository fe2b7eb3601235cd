"""What the HTTP tests stand on: the app over real services, served by the real server, and a
scripted runtime behind a unix socket. One world per test; nothing is left running."""

import asyncio
import json
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import httpx
import uvicorn
from aiohttp import WSMsgType, web

from atoll.adapters.auth.token_file import load_or_make_token
from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.kept import KeptFolder
from atoll.adapters.profiles import read_builtin_profiles
from atoll.adapters.repos.direct_importer import DirectImporter
from atoll.adapters.repos.shelf import Settings as ShelfSettings
from atoll.adapters.repos.shelf import Shelf
from atoll.adapters.runtimes.http_clients import HttpRuntimeClients
from atoll.adapters.storage.store import Settings as StoreSettings
from atoll.adapters.storage.store import open_store
from atoll.adapters.vaults.envelope import EnvelopeVault, MasterKey
from atoll.adapters.workspaces.empty import EmptyWorkspaces
from atoll.domain.agents.registry import canonical_name
from atoll.domain.ids import SandboxId, SnapshotId
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Capabilities, CleanupReport, Ended, Handle, Provision, Reachability
from atoll.ports.extension import KEEP_POOLS, KEEP_SNAPSHOTS, KeptDisk
from atoll.ports.host import Finding
from atoll.services.application import Application
from atoll.services.ground import Ground
from atoll.services.identifiers import Identifiers
from atoll.services.library.settings import ReachabilitySettings
from atoll.services.people.identity.settings import AuthSettings
from atoll.services.people.logins import Logins
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.settings import ServiceSettings
from atoll.services.telemetry import OFF, Telemetry
from atoll.surfaces.http.app import AppSettings, create_app
from atoll.surfaces.http.previews.origins import LOOPBACK_ORIGINS
from atoll.surfaces.http.server.connections.bounded_head import BoundedHead
from atoll.surfaces.http.server.connections.handover import EXTENSION, HandoverProtocol
from atoll.surfaces.http.server.connections.held_bytes import HeldBytes
from atoll.surfaces.http.server.connections.paced_reading import Turns
from atoll.surfaces.http.server.connections.pending_connections import PendingConnections
from atoll.surfaces.http.server.connections.proxies import TrustedProxies
from atoll.surfaces.http.server.credentials import PAGE_KEY
from atoll.surfaces.http.server.front_end import FrontEnd
from atoll.surfaces.http.server.host_names import names_for
from atoll.surfaces.http.server.internal_access import InternalAccess
from atoll.surfaces.http.site.metrics import MetricsAccess
from atoll.surfaces.mcp.definition import Namespace
from atoll.surfaces.mcp.entry import McpEntry
from atoll.testing import (
    FakeAgentIssuer,
    FakeAgentLayers,
    FakeAgentShelf,
    FakeAuditSigner,
    FakeDrive,
    FakeForge,
    FakePushSender,
    FakeSshMachines,
    FakeWebhookSender,
)
from atoll.testing.fakes.outside.ssh_gateway import FakeSshGateway
from atoll.wire.words.sandboxes import DiskPromise
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control import openapi
from atoll.wiring.control.graph import build_application
from atoll.wiring.control.identity import open_identity
from atoll.wiring.control.library import LibraryPorts, build_library
from atoll.wiring.control.lifecycle.ports import SandboxPorts
from tests.peers.contract import (
    AGENT,
    CARD,
    CARDS,
    ENTRY,
    EXEC,
    MARK,
    MATCH,
    POLICY,
    RECORDING,
    SESSION,
    SETTINGS,
)
from tests.peers.databases.chosen import database_url
from tests.protocol.answers import read_strictly
from tests.surfaces.http.documented import check_documented

Inside = Callable[[asyncio.StreamReader, Callable[[bytes], Awaitable[None]]], Awaitable[None]]
"""A server inside: it gets one connection's bytes, and a way to answer."""


class TurnedClock:
    """A clock that stands still until a test turns it."""

    def __init__(self) -> None:
        self.at = datetime.now(UTC)

    def now(self) -> datetime:
        return self.at

    async def sleep_until(self, deadline: datetime) -> None:
        # No test here waits for a deadline of a sandbox.
        await asyncio.Event().wait()


@dataclass
class ScriptedRuntime:
    """A runtime that answers by the book and remembers what it was asked."""

    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    frames: list[bytes | str] = field(default_factory=list)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    close_with: int | None = None
    flood_bytes: int = 0
    flooded: int = 0
    released: asyncio.Event = field(default_factory=asyncio.Event)
    stream_left: asyncio.Event = field(default_factory=asyncio.Event)

    programs: set[str] = field(
        default_factory=lambda: {"shell", "codex", "claude-code", "opencode"}
    )
    #: Answers in place of those by the book.
    scripted: dict[tuple[str, str], tuple[int, Any]] = field(default_factory=dict)
    inside: "Inside | None" = None
    dialled: list[int] = field(default_factory=list)
    received: int = 0
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    runner: web.AppRunner | None = None
    transports: list[asyncio.Transport] = field(default_factory=list)

    def abort_connections(self) -> None:
        """What SIGKILL does: every attached connection ends without a word."""
        for transport in self.transports:
            transport.abort()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/journal", self._journal)
        app.router.add_get("/sessions/{id}/attach", self._attach)
        app.router.add_get("/execs/{id}/output", self._output)
        app.router.add_get("/ports/{port}", self._port)
        app.router.add_get("/files/content", self._content)
        app.router.add_get("/files/archive", self._content)
        app.router.add_get("/files/watch", self._output)
        app.router.add_get("/recordings/r_1", self._cast)
        app.router.add_route("*", "/{rest:.*}", self._rest)
        return app

    async def _health(self, request: web.Request) -> web.Response:
        return web.json_response(
            {
                "sandbox_id": "sb",
                "generation": 1,
                "version": "0",
                "pid": 1,
                "started_at": "2026-01-01T00:00:00Z",
                "sessions": 0,
                "execs": 0,
                "attached": 0,
                "idle_seconds": 0,
            }
        )

    async def _journal(self, request: web.Request) -> web.Response:
        return web.json_response({"entries": [], "last": 0, "dropped": 0})

    async def _rest(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.heads.append(dict(request.headers))
        self.asked.append((request.method, request.path, dict(request.query), body))
        if "application/x-ndjson" in request.headers.get("Accept", ""):
            return await self._output(request, b'{"exit":{"exit_code":0}}\n')
        answers: dict[tuple[str, str], tuple[int, Any]] = {
            ("GET", "/sessions"): (200, {"sessions": [SESSION]}),
            ("POST", "/sessions"): (201, SESSION),
            ("GET", "/sessions/t_1"): (200, SESSION),
            ("PATCH", "/sessions/t_1"): (200, SESSION),
            ("GET", "/agents"): (200, {"agents": [AGENT]}),
            ("POST", "/agents"): (201, AGENT),
            ("GET", "/agents/t_1"): (200, AGENT),
            ("GET", "/agents/t_1/settings"): (200, SETTINGS),
            ("PATCH", "/agents/t_1/settings"): (200, SETTINGS),
            ("POST", "/sessions/t_1/agent"): (200, AGENT),
            ("POST", "/sessions/t_1/ask"): (202, AGENT),
            ("GET", "/sessions/t_1/cards"): (200, CARDS),
            ("POST", "/sessions/t_1/cards/c_1/answer"): (200, CARD),
            ("GET", "/sessions/t_1/marks"): (200, {"marks": [MARK], "seq": 1, "dropped": 0}),
            ("GET", "/sessions/t_1/text"): (200, {"text": "", "from": 0, "to": 0, "cut": False}),
            ("POST", "/sessions/t_1/recording"): (201, RECORDING),
            ("DELETE", "/sessions/t_1/recording"): (200, RECORDING),
            ("GET", "/recordings"): (200, {"recordings": [RECORDING]}),
            ("GET", "/search"): (200, {"matches": [MATCH], "complete": True}),
            ("PUT", "/policy"): (200, POLICY),
            ("GET", "/ports"): (200, {"ports": [3000] if self.inside else []}),
            ("GET", "/execs"): (200, {"execs": [EXEC]}),
            ("POST", "/execs"): (201 if b'"background":true' in body else 200, EXEC),
            ("GET", "/execs/e_1"): (200, EXEC),
            ("GET", "/files"): (200, {"entries": [ENTRY], "next": None}),
            ("GET", "/files/stat"): (200, ENTRY),
            ("GET", "/files/total"): (200, {"files": 1, "bytes": 2, "stored": 4096}),
            ("PUT", "/files/content"): (201, ENTRY),
            ("PUT", "/files/archive"): (200, {"files": 1, "bytes": 1}),
            ("POST", "/files/mkdir"): (201, ENTRY),
            ("POST", "/files/move"): (200, ENTRY),
            **self.scripted,
        }
        name = self._absent(request, body)
        if name is not None:
            detail = f"the agent {name} is not in this sandbox"
            refusal = {"code": "agent_not_inside", "field": "agent", "detail": detail}
            return web.json_response(refusal, status=422)
        known = answers.get((request.method, request.path))
        if known is not None:
            return web.json_response(known[1], status=known[0])
        parts = request.path.split("/")
        if request.path == "/files" or (len(parts) > 2 and parts[2] in {"t_1", "e_1", "r_1"}):
            return web.Response(status=204)
        if request.path == "/journal/ack":
            return web.Response(status=204)
        problem = {"type": "about:blank", "title": "Not Found", "status": 404}
        return web.json_response(
            {**problem, "code": "not_found", "detail": "no such thing"}, status=404
        )

    def _absent(self, request: web.Request, body: bytes) -> str | None:
        """The agent that a request would start, where its program is not inside."""
        if (request.method, request.path) not in {("POST", "/sessions"), ("POST", "/agents")}:
            return None
        name = json.loads(body or b"{}").get("agent")
        return None if name is None or canonical_name(name) in self.programs else str(name)

    async def _port(self, request: web.Request) -> web.StreamResponse:
        self.dialled.append(int(request.match_info["port"]))
        socket = web.WebSocketResponse(max_msg_size=1024 * 1024)
        await socket.prepare(request)
        if self.inside is None:
            await socket.close(code=4502)
            return socket
        reader = asyncio.StreamReader()

        async def feed() -> None:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    break
                if message.type is WSMsgType.BINARY:
                    self.received += len(message.data)
                    reader.feed_data(message.data)
            reader.feed_eof()

        try:
            async with asyncio.TaskGroup() as group:
                feeding = group.create_task(feed())
                await self.inside(reader, socket.send_bytes)
                await socket.close()
                feeding.cancel()
        finally:
            self.ended.set()
        return socket

    async def _output(
        self, request: web.Request, end: bytes = b'{"exit":{}}\n'
    ) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await answer.prepare(request)
        await answer.write(b'{"stream":"stdout","offset":0,"data":"aGk="}\n')
        try:
            if self.close_with is None and "hold" in request.path_qs:
                await asyncio.sleep(30)  # until the client leaves, or the test has failed
        finally:
            self.stream_left.set()
        await answer.write(end)
        return answer

    async def _content(self, request: web.Request) -> web.StreamResponse:
        return web.Response(
            body=b"<script>alert(1)</script>",
            content_type="text/html",
            headers={"Set-Cookie": "evil=1", "Access-Control-Allow-Origin": "*"},
        )

    async def _cast(self, request: web.Request) -> web.StreamResponse:
        line = b'{"version":3,"term":{"cols":80,"rows":24}}\n'
        return web.Response(body=line, content_type="application/x-asciicast")

    async def _attach(self, request: web.Request) -> web.StreamResponse:
        self.attached.append(request.query_string)
        self.heads.append(dict(request.headers))
        if request.match_info["id"] != "t_1":
            return web.Response(status=404)
        socket = web.WebSocketResponse(max_msg_size=8 * 1024 * 1024)
        await socket.prepare(request)
        if isinstance(request.transport, asyncio.Transport):
            self.transports.append(request.transport)
        await socket.send_str('{"type":"start","offset":0}')
        try:
            if self.close_with is not None:
                await socket.close(code=self.close_with)
                return socket
            while self.flooded < self.flood_bytes:
                await socket.send_bytes(b"x" * 65536)
                self.flooded += 65536
            async for message in socket:
                if message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                    self.frames.append(message.data)
                    if isinstance(message.data, bytes):
                        await socket.send_bytes(message.data)
                    else:
                        await socket.send_str(message.data)
        finally:
            self.closed.set()
        return socket


@asynccontextmanager
async def runtime_on(path: Path) -> AsyncIterator[ScriptedRuntime]:
    """A scripted runtime behind this socket."""
    scripted = ScriptedRuntime()
    runner = web.AppRunner(
        scripted.app(), access_log=None, shutdown_timeout=0.1, handler_cancellation=True
    )
    scripted.runner = runner
    await runner.setup()
    await web.UnixSite(runner, str(path)).start()
    try:
        yield scripted
    finally:
        await runner.cleanup()


@asynccontextmanager
async def short_folder() -> AsyncIterator[Path]:
    """A folder whose paths fit into a socket address."""
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


NO_PROXIES = TrustedProxies()


class _Server(uvicorn.Server):
    """The server without its signal handlers, as the test's process keeps its own, and without the
    tenths of a second that it sleeps before and while it ends: every test pays them."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ending = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ending.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        state = self.server_state
        for listener in self.servers:
            listener.close()
        for connection in list(state.connections):
            connection.shutdown()
        with suppress(TimeoutError):
            async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn says it by no event
                    await asyncio.sleep(0.002)
        for task in state.tasks:
            task.cancel()
        await self.lifespan.shutdown()


class RelayingProtocol(HandoverProtocol):
    """The server's protocol, without handing over: the scripted runtime takes no connection."""

    def handle_connect(self, event: Any) -> None:
        super().handle_connect(event)
        if self.handshake_initiated and not self.close_sent:
            extensions: Any = self.scope["extensions"]
            del extensions[EXTENSION]


@asynccontextmanager
async def served(app: Any, proxies: TrustedProxies = NO_PROXIES) -> AsyncIterator[str]:
    """The app behind the real server on a free loopback port; its base URL."""
    upgrades = getattr(app.state, "origins", LOOPBACK_ORIGINS).takes
    pending = PendingConnections(proxies.holds)
    entry: Any = partial(
        BoundedHead,
        pending=pending,
        upgrades=upgrades,
        proxies=proxies,
        turns=Turns(),
        held=HeldBytes(),
    )
    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
        http=entry,
        ws=RelayingProtocol,
        ws_per_message_deflate=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.serve())
        while not server.started:
            if running.done():
                raise RuntimeError("the server did not start")
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.ending.set()


HOOKS: dict[str, list[Callable[..., Any]]] = {"response": [read_strictly, check_documented]}


@asynccontextmanager
async def client_of(
    url: str, token: str | None = None, **more: Any
) -> AsyncIterator[httpx.AsyncClient]:
    """A client, with the token when one is given. It names all its requests alike, so that answers
    that should not differ do not."""
    headers = {"X-Request-ID": "test", **({"Authorization": f"Bearer {token}"} if token else {})}
    # Nothing here is TLS, whose certificates would be loaded for each client.
    settings = {"timeout": 10, "verify": False, "event_hooks": HOOKS, **more}
    async with httpx.AsyncClient(base_url=url, headers=headers, **settings) as client:
        yield client


document_text = cache(openapi.render_document)
"""The document of the routes there are, made once for all tests: it takes a second."""


class OneRuntime:
    """An extension whose every sandbox is the same scripted runtime."""

    name = "ext.namespaces"

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._here: dict[str, Handle] = {}
        self.snapshots: dict[str, str] = {}
        self.seeds: dict[str, str | None] = {}

    def capabilities(self) -> Capabilities:
        # It stands for every backend here, also for one that runs compose files.
        return Capabilities(
            IsolationLevel.CONTAINER,
            compose=True,
            abilities=frozenset({KEEP_SNAPSHOTS, KEEP_POOLS}),
            snapshots=SnapshotPromise(DiskPromise.CRASH),
            pools=True,
        )

    async def keep_snapshot(
        self, handle: Handle, snapshot: SnapshotId, *, still_ms: int | None = None
    ) -> KeptDisk:
        self.snapshots[snapshot] = handle.sandbox_id
        return KeptDisk(4096, 1)

    async def drop_snapshot(self, snapshot: SnapshotId, _host: str) -> bool:
        return self.snapshots.pop(snapshot, None) is not None

    async def build_pooled(self, request: Provision) -> Handle:
        return await self.provision(request)

    async def provision(self, request: Provision) -> Handle:
        self.seeds[request.sandbox_id] = request.seed
        handle = Handle(request.sandbox_id, request.generation, self.name)
        self._here[request.sandbox_id] = handle
        return handle

    async def wait_ready(self, handle: Handle) -> Reachability:
        isolation = Isolation(IsolationLevel.CONTAINER, "scripted", ("memory: no cgroup",))
        return Reachability(f"unix:{self._socket}", isolation)

    async def teardown(self, handle: Handle, *, keep_state: bool) -> CleanupReport:
        self._here.pop(handle.sandbox_id, None)
        return CleanupReport()

    async def survey(self) -> list[Handle]:
        return list(self._here.values())

    async def ended(self) -> AsyncIterator[Ended]:
        await asyncio.Event().wait()
        yield Ended(SandboxId(""), 0, "")


@dataclass(frozen=True)
class World:
    """A running app: its address, its token, and the runtime behind it."""

    url: str
    token: str
    runtime: ScriptedRuntime
    logins: Logins
    clock: TurnedClock
    services: Application
    ground: Ground
    hooks: FakeWebhookSender
    forge: FakeForge
    drive: FakeDrive
    machines: FakeSshMachines
    issuer: FakeAgentIssuer

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")

    async def stop_runtime(self) -> None:
        """The runtime is gone, and its socket with it."""
        if self.runtime.runner is not None:
            await self.runtime.runner.cleanup()

    async def ticket(self) -> str:
        return await self.logins.new_ticket()

    async def cookie(self) -> str:
        return await self.logins.login(await self.ticket(), "a test")

    async def browser(self, cookie: str | None = None) -> dict[str, str]:
        """What the page of a logged-in browser sends, but for its Origin."""
        session = cookie or await self.cookie()
        return {"Cookie": f"atoll_session={session}", PAGE_KEY: self.logins.page_key(session)}


@asynccontextmanager
async def world(
    *,
    max_sandboxes: int = 50,
    telemetry: Telemetry = OFF,
    metrics: MetricsAccess | None = None,
    auth: AuthSettings | None = None,
    front_end: FrontEnd | None = None,
    internal: InternalAccess | None = None,
    public_url: str | None = None,
    proxies: TrustedProxies = NO_PROXIES,
    namespaces: tuple[Namespace, ...] = (),
    reachability: ReachabilitySettings | None = None,
) -> AsyncIterator[World]:
    """The whole control plane over a database and a scripted runtime, behind the real server."""
    clock, bus, identifiers = TurnedClock(), InProcessBus(), Identifiers()
    async with AsyncExitStack() as stack:
        folder = await stack.enter_async_context(short_folder())
        runtime = await stack.enter_async_context(runtime_on(folder / "rt.sock"))
        store = await stack.enter_async_context(open_store(StoreSettings(database_url(folder))))
        clients = HttpRuntimeClients()
        stack.push_async_callback(clients.close)
        extension = OneRuntime(folder / "rt.sock")
        vault = EnvelopeVault(lambda: [MasterKey(b"m" * 32)])
        issuer = FakeAgentIssuer()
        ports = SandboxPorts(
            {extension.name: extension},
            clients,
            FakeAgentLayers(),
            vault,
            shelf=FakeAgentShelf(),
            issuers={"codex": issuer},
        )
        ground = Ground(store, bus, clock, identifiers, telemetry)
        shelf = Shelf(ShelfSettings(folder / "repos", folder / "imports"), DirectImporter())
        shelf.sweep()
        token = load_or_make_token(folder / "token")
        kept = KeptFolder(folder / "kept")
        own_auth = auth or AuthSettings()
        settings = ServiceSettings(
            AdmissionSettings(max_sandboxes=max_sandboxes),
            auth=own_auth,
            reachability=reachability or ReachabilitySettings(),
        )
        hooks, forge, drive = FakeWebhookSender(), FakeForge(), FakeDrive()
        machines = FakeSshMachines()
        shelves = LibraryPorts(
            shelf,
            kept,
            token,
            FakePushSender(),
            FakeAuditSigner(),
            hooks,
            forge,
            forge,
            machines,
            FakeSshGateway(there=False),
            bundled=read_builtin_profiles(),
            identity=await open_identity(own_auth, clock, {"OIDC_SECRET": "s3cret"}, stack),
            examine=_examined,
            drive=drive,
        )
        library = build_library(ground, shelves, settings=settings)
        empty = replace(library.preparation, workspaces=EmptyWorkspaces(), saver=EmptyWorkspaces())
        built = build_application(
            ground, ports, replace(library, preparation=empty), settings=settings
        )
        services = replace(built, readiness=_ready)
        surface = _surface(public_url, metrics, telemetry)
        mcp = McpEntry(services, version="0", more=namespaces)
        surface = replace(surface, front_end=front_end, internal=internal, mcp=mcp)
        app = create_app(services, surface)
        group = await stack.enter_async_context(asyncio.TaskGroup())
        background = group.create_task(services.background.run())
        tools = group.create_task(mcp.run())
        stack.callback(tools.cancel)
        stack.callback(background.cancel)
        url = await stack.enter_async_context(served(app, proxies))
        yield World(
            url,
            token,
            runtime,
            services.logins,
            clock,
            services,
            ground,
            hooks,
            forge,
            drive,
            machines,
            issuer,
        )


def _surface(
    public_url: str | None, metrics: MetricsAccess | None, telemetry: Telemetry
) -> AppSettings:
    names = names_for("127.0.0.1", public_url, ())
    return AppSettings(names=names, public_url=public_url, metrics=metrics, telemetry=telemetry)


async def _examined() -> tuple[Finding, ...]:
    return ()


async def _ready() -> str | None:
    return None
