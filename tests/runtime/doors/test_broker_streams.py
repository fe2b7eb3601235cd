"""What passes the broker without an end in sight: WebSockets, slow readers, uploads, TLS."""

import asyncio
import re
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from atoll.wire.contract.policy import Policy, ProviderKey
from tests.peers.broker import KEY, Door, broker_door
from tests.runtime.stage import abort


@asynccontextmanager
async def peer(
    handler: web.RequestHandler | object, tls: ssl.SSLContext | None = None
) -> AsyncIterator[str]:
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{tail:.*}", handler)  # type: ignore[arg-type]
    runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    try:
        yield f"http{'s' if tls else ''}://localhost:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class Realtime:
    """A WebSocket of a vendor's: says hello, then says everything back."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.ended = asyncio.Event()

    async def handle(self, request: web.Request) -> web.WebSocketResponse:
        self.headers.append(dict(request.headers))
        socket = web.WebSocketResponse(protocols=("realtime", "openai-insecure-api-key.own"))
        await socket.prepare(request)
        await socket.send_str("hello")
        try:
            async for message in socket:
                if message.data == "key":
                    await socket.send_str(f"it is {KEY}, you know")
                elif message.data == "bye":
                    break
                else:
                    await socket.send_bytes(message.data)
        finally:
            self.ended.set()
        return socket


@asynccontextmanager
async def realtime() -> AsyncIterator[tuple[Door, Realtime, aiohttp.ClientWebSocketResponse]]:
    vendor = Realtime()
    async with (
        peer(vendor.handle) as url,
        broker_door({"openai": url}) as door,
        aiohttp.ClientSession() as client,
        client.ws_connect(
            f"{door.url}/broker/openai/v1/realtime?model=m",
            protocols=("realtime", "openai-insecure-api-key.own"),
            headers={"Authorization": "Bearer own"},
            compress=15,
        ) as socket,
    ):
        assert (await socket.receive()).data == "hello"
        yield door, vendor, socket


async def test_websocket_carries_the_real_key_and_shows_neither() -> None:
    async with realtime() as (door, vendor, socket):
        assert socket.protocol == "realtime"
        (sent,) = vendor.headers
        assert sent["Authorization"] == f"Bearer {KEY}"
        assert sent["Sec-WebSocket-Protocol"] == "realtime"
        assert "Sec-WebSocket-Extensions" not in sent and "own" not in str(sent)
        await socket.send_str("key")
        assert (await socket.receive()).data == f"it is {'*' * len(KEY)}, you know"
        blob = bytes(range(256)) * 2000
        await socket.send_bytes(blob)
        assert (await socket.receive()).data == blob
        await socket.send_str("bye")
        assert (await socket.receive()).type == aiohttp.WSMsgType.CLOSE
    assert door.audit[0]["path_class"] == "realtime"
    size = door.audit[0]["bytes_out"]
    assert isinstance(size, int) and size > len(blob)


async def test_websocket_frame_that_ends_like_a_key_begins_is_not_kept_back() -> None:
    async with realtime() as (_door, _vendor, socket):
        await socket.send_bytes(b"ends with s")
        assert (await asyncio.wait_for(socket.receive(), 5)).data == b"ends with s"


async def test_websocket_client_gone_closes_the_upstream() -> None:
    async with realtime() as (_door, vendor, socket):
        abort(socket)
        await asyncio.wait_for(vendor.ended.wait(), 10)


async def test_websocket_of_a_removed_key_is_closed() -> None:
    async with realtime() as (door, vendor, socket):
        bad = ProviderKey(provider="openai", secret_id="s", version=2, value="\n")
        door.policy.replace(Policy(revision=1, providers=(bad,)))
        message = await asyncio.wait_for(socket.receive(), 10)
        assert message.type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
        await asyncio.wait_for(vendor.ended.wait(), 10)
        assert door.audit[-1]["outcome"] == "revoked"


async def test_websocket_attempt_of_codex_is_answered_cleanly() -> None:
    async with (
        broker_door({"openai": "http://127.0.0.1:1"}) as door,
        aiohttp.ClientSession() as client,
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await client.ws_connect(f"{door.url}/broker/openai/v1/responses")
        assert caught.value.status == 426


async def test_stream_to_a_slow_reader_pauses_the_upstream() -> None:
    sent = 0
    gone = asyncio.Event()

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(bytes(65536))
                sent += 65536
        except (ConnectionError, asyncio.CancelledError):
            gone.set()
            raise

    async with peer(endless) as url, broker_door({"openai": url}) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port, limit=1024)
        writer.write(b"POST /broker/openai/v1/responses HTTP/1.1\r\nHost: x\r\n\r\n")
        assert await reader.read(10)
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)  # once nothing moves in this time, every buffer is full
        assert sent < 64 * 1024 * 1024
        writer.transport.abort()
        await asyncio.wait_for(gone.wait(), 10)


async def test_upload_streams_while_it_is_still_being_sent() -> None:
    first = asyncio.Event()

    async def taker(request: web.Request) -> web.Response:
        count = 0
        async for piece in request.content.iter_any():
            count += len(piece)
            first.set()
        return web.Response(text=str(count))

    async def body() -> AsyncIterator[bytes]:
        yield bytes(100_000)
        await asyncio.wait_for(first.wait(), 10)
        for _ in range(200):
            yield bytes(100_000)

    async with (
        peer(taker) as url,
        broker_door({"openai": url}) as door,
        aiohttp.ClientSession() as client,
        client.post(f"{door.url}/broker/openai/v1/audio/transcriptions", data=body()) as answer,
    ):
        assert await answer.text() == "20100000"


async def test_connection_upstream_is_kept_and_dropped_with_the_policy() -> None:
    peers: list[object] = []

    async def noting(request: web.Request) -> web.Response:
        assert request.transport is not None
        peers.append(request.transport.get_extra_info("peername"))
        return web.Response(text="ok")

    async with (
        peer(noting) as url,
        broker_door({"openai": url}) as door,
        aiohttp.ClientSession() as client,
    ):
        for revision in (0, 0, 1):
            door.policy.replace(Policy(revision=revision))
            for _ in range(2):
                async with client.get(f"{door.url}/broker/openai/v1/models") as answer:
                    assert await answer.text() == "ok"
    assert len(peers) == 6
    assert peers[0] == peers[1] and peers[3] != peers[4]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and certificate for `localhost`, in one file."""
    place = tmp_path_factory.mktemp("tls") / "both.pem"
    made = [
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-keyout", str(place), "-out", str(place) + ".crt", "-days", "2", "-subj",
        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
    ]  # fmt: skip
    subprocess.run(made, check=True, capture_output=True)
    place.write_text(place.read_text() + Path(f"{place}.crt").read_text())
    return place


async def test_upstream_over_tls_is_verified_and_streams(certificate: Path) -> None:
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=str(certificate))

    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"] + request.host)

    async with peer(hello, serving) as url, aiohttp.ClientSession() as client:
        async with (
            broker_door({"openai": url}, trust=trusting) as door,
            client.get(f"{door.url}/broker/openai/v1/models") as answer,
        ):
            port = url.rpartition(":")[2]
            assert await answer.text() == f"Bearer {'*' * len(KEY)}localhost:{port}"
        wrong = url.replace("localhost", "127.0.0.1")
        for place, trust in ((url, ssl.create_default_context()), (wrong, trusting)):
            async with (
                broker_door({"openai": place}, trust=trust) as door,
                client.get(f"{door.url}/broker/openai/v1/models") as answer,
            ):
                assert answer.status == 502
                assert "CertVerification" in await answer.text()


async def test_requests_that_came_early_are_answered_in_turn_when_they_are_more_than_may_wait() -> (
    None
):
    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=f"number {request.query['n']};")

    async with peer(hello) as url, broker_door({"openai": url}) as door:
        reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        head = "GET /broker/openai/v1/models?n=%d HTTP/1.1\r\nHost: x\r\n"
        writer.write("".join(f"{head % n}\r\n" for n in range(300)).encode())
        writer.write(f"{head % 300}Connection: close\r\n\r\n".encode())
        answers = await asyncio.wait_for(reader.read(), 60)
        writer.close()
    found = [int(n) for n in re.findall(rb"number (\d+);", answers)]
    assert found == list(range(301))


async def test_client_that_left_while_its_requests_wait_ends_its_exchange() -> None:
    gone = asyncio.Event()

    async def silent(request: web.Request) -> web.StreamResponse:
        try:
            await asyncio.Event().wait()
        finally:
            gone.set()
        raise AssertionError

    async with peer(silent) as url, broker_door({"openai": url}) as door:
        _reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
        writer.write(b"GET /broker/openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n" * 1000)
        await writer.drain()
        writer.close()
        await asyncio.wait_for(gone.wait(), 60)
