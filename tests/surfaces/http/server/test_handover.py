"""When a runtime gets a client's connection, seen by a client on a real one."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_network

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from atoll.domain.errors import Unavailable
from atoll.ports.runtime import Channel, HandoverLink
from atoll.surfaces.http.server.connections.bounded_head import BoundedHead
from atoll.surfaces.http.server.connections.handover import HandoverProtocol
from atoll.surfaces.http.server.connections.pending_connections import PendingConnections
from atoll.surfaces.http.server.connections.proxies import PEER, TrustedProxies
from atoll.surfaces.http.terminals.relay import serve_attach
from atoll.wire.http.ws_frames import close_frame

HERE = TrustedProxies((ip_network("127.0.0.0/8"),))
HANDSHAKE = (
    b"GET /attach HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
PASSED = "no frames pass through here"
GOOD_BYE = close_frame(1013, PASSED)
AS_OUR_SERVER = b"HTTP/1.1 200 OK\r\nSet-Cookie: atoll_session=theirs\r\nContent-Length: 0\r\n\r\n"


@dataclass
class Runtime:
    """One that does with the connection what it wants; `takes` is whether it admits the client."""

    does: Callable[[int], None]
    takes: bool = True
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def pass_socket(self, client: int) -> None:
        self.does(client)

    async def is_admitted(self) -> bool:
        return self.takes

    async def ended(self) -> None:
        await self.over.wait()

    def close_client(self, code: int, reason: str) -> None:
        self.over.set()

    def disconnect(self) -> None:
        self.over.set()


class SignallessServer(uvicorn.Server):
    """Leaves the signals of this process alone."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serving(runtime: Runtime) -> AsyncIterator[int]:
    """A control plane's server with one route; its port."""

    @asynccontextmanager
    async def links() -> AsyncIterator[HandoverLink | None]:
        yield runtime

    @asynccontextmanager
    async def opened() -> AsyncIterator[Channel]:
        raise Unavailable(PASSED)
        yield

    async def name(client: WebSocket) -> None:
        await client.accept()
        told = client.scope["client"][0], client.scope["extensions"][PEER]
        await client.send_text(" behind ".join(told))
        await client.close(1013, PASSED)

    async def attach(client: WebSocket) -> None:
        await serve_attach(client, links(), opened())

    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=[WebSocketRoute("/attach", attach), WebSocketRoute("/name", name)]),
        loop="none",
        http=partial(BoundedHead, pending=PendingConnections(), proxies=HERE),  # type: ignore[arg-type]
        ws=HandoverProtocol,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    server = SignallessServer(config)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(server.serve(sockets=[listener]))
        try:
            yield listener.getsockname()[1]
        finally:
            runtime.over.set()
            server.should_exit = True


async def heard(port: int, handshake: bytes = HANDSHAKE) -> bytes:
    """All that a client hears from its handshake up to a good-bye or the end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(handshake)
    said = b""
    try:
        async with asyncio.timeout(20):
            while GOOD_BYE not in said and (piece := await reader.read(4096)):
                said += piece
    finally:
        writer.close()
    return said


def speaking(words: bytes) -> Callable[[int], None]:
    def speak(client: int) -> None:
        own = os.dup(client)
        os.write(own, words)
        os.close(own)

    return speak


async def test_runtime_gets_a_connection_only_once_this_server_has_answered_on_it() -> None:
    async with serving(Runtime(speaking(AS_OUR_SERVER))) as port:
        said = await heard(port)
    answer, _, after = said.partition(b"\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 101 ")
    assert b"Set-Cookie" not in answer and after == AS_OUR_SERVER


async def test_client_that_a_runtime_does_not_admit_is_served_here() -> None:
    handed: list[int] = []
    async with serving(Runtime(handed.append, takes=False)) as port:
        said = await heard(port)
    assert said.partition(b"\r\n\r\n")[2] == GOOD_BYE  # what passing its frames came to
    assert handed == []


@pytest.mark.parametrize("error", [BrokenPipeError(), ConnectionResetError()])
async def test_client_of_a_runtime_that_went_meanwhile_loses_its_connection(
    error: OSError,
) -> None:
    def gone(_client: int) -> None:
        raise error

    async with serving(Runtime(gone)) as port:
        said = await heard(port)
    assert said.startswith(b"HTTP/1.1 101 ") and said.endswith(b"\r\n\r\n")


async def test_client_of_a_websocket_is_whom_a_trusted_proxy_names() -> None:
    named = HANDSHAKE.replace(b"/attach", b"/name").replace(
        b"Connection:", b"X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\nConnection:"
    )
    async with serving(Runtime(speaking(b""))) as port:
        said = await heard(port, named)
    assert b"198.51.100.7 behind 127.0.0.1" in said
