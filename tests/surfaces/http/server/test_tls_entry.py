"""A TLS connection before and after its handshake, with the event loops the server may run on."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
import uvloop
from uvicorn.server import ServerState

from atoll.surfaces.http.server.connections import pending_connections, tls_entry
from atoll.surfaces.http.server.connections.pending_connections import PendingConnections
from atoll.surfaces.http.server.connections.tls_entry import TlsEntry
from tests.peers.certificate import own_certificate

REQUEST = b"GET /where HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
Act = Callable[["Entered"], Coroutine[Any, Any, None]]


@dataclass
class Entered:
    """A server behind `TlsEntry`."""

    port: int
    trusted: ssl.SSLContext
    state: ServerState

    async def opened(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def asked(self) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.trusted)
        writer.write(REQUEST)
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return answer


async def _app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    body = f"{scope['scheme']} {scope['client'][0]}".encode()
    length = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": length})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def _entered(folder: Path) -> AsyncIterator[Entered]:
    cert, key = own_certificate(folder, "127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert, key)
    config = uvicorn.Config(_app, lifespan="off", log_config=None)
    config.load()
    state = ServerState()
    make = partial(
        TlsEntry,
        context=context,
        pending=PendingConnections(),
        config=config,
        server_state=state,
        app_state={},
        _loop=None,
    )
    server = await asyncio.get_running_loop().create_server(make, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield Entered(port, ssl.create_default_context(cafile=str(cert)), state)
    server.close()
    for connection in list(state.connections):
        connection.shutdown()
    await asyncio.gather(*state.tasks)
    await server.wait_closed()
    assert not _entering(state)


@pytest.fixture(params=LOOPS, ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Act], None]:
    async def act_on(act: Act) -> None:
        async with asyncio.timeout(30), _entered(tmp_path) as entered:
            await act(entered)

    def call(act: Act) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(act_on(act))

    return call


def test_request_right_behind_the_handshake_is_answered(run: Callable[[Act], None]) -> None:
    async def act(entered: Entered) -> None:
        answers = await asyncio.gather(*(entered.asked() for _ in range(20)))
        assert {answer.rpartition(b"\r\n\r\n")[2] for answer in answers} == {b"https 127.0.0.1"}

    run(act)


def test_silent_and_plain_connections_end_in_time(
    run: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(entered: Entered) -> None:
        silent, held = await entered.opened()
        plain, writer = await entered.opened()
        writer.write(REQUEST)
        assert b"HTTP/1.1" not in await _rest(plain)
        assert await _rest(silent) == b""
        held.close()
        writer.close()
        assert await entered.asked()

    monkeypatch.setattr(tls_entry, "HANDSHAKE_SECONDS", 0.3)
    run(act)


def test_more_handshakes_than_fit_close_the_oldest(
    run: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def act(entered: Entered) -> None:
        links = [await entered.opened() for _ in range(5)]
        assert [await _rest(reader) for reader, _ in links[:2]] == [b"", b""]
        assert await entered.asked()
        for _, writer in links:
            writer.close()

    monkeypatch.setattr(pending_connections, "MAX_NEAR", 3)
    run(act)


def test_client_that_leaves_within_its_handshake_leaves_nothing(
    run: Callable[[Act], None],
) -> None:
    async def act(entered: Entered) -> None:
        _, writer = await entered.opened()
        writer.write(b"\x16\x03\x01\x02\x00\x01")  # the beginning of a client's hello
        await writer.drain()
        writer.close()
        assert await entered.asked()
        await asyncio.gather(*entered.state.tasks)
        assert not _entering(entered.state)

    run(act)


def _entering(state: ServerState) -> list[object]:
    return [each for each in state.connections if isinstance(each, TlsEntry)]


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""
