"""Ports of a sandbox: programs listen inside, and a caller of the runtime reaches them."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType, WSServerHandshakeError

from atoll.runtime.api.ports import NOBODY
from atoll.runtime.ports import MAX_CONNECTIONS
from atoll.wire.contract.journal import CODE_HEADER
from atoll.wire.contract.ports import CONNECTIONS_PATH, END, list_ports
from tests.runtime.stage import Runtime, Watcher, runtime

ECHO = """
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
try:
    socket.socket(family).bind((sys.argv[1], 0))
except OSError:
    sys.exit("port 0.")
server = socket.create_server((sys.argv[1], 0), family=family, backlog=100)
print(f"port {server.getsockname()[1]}.", flush=True)
def echo(one):
    with one:
        while data := one.recv(65536):
            one.sendall(data)
while True:
    threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()
"""
ONE_MEGABYTE = 1 << 20


@asynccontextmanager
async def listening(rt: Runtime, host: str = "127.0.0.1") -> AsyncIterator[int]:
    """Yield the port of a program inside that sends back what it gets."""
    terminal = await rt.open("python3", "-c", ECHO, host)
    async with rt.attach(terminal) as viewer:
        yield await _printed(viewer)
    assert (await rt.call("DELETE", f"/sessions/{terminal}"))[0] == 204


async def _printed(viewer: Watcher) -> int:
    async with asyncio.timeout(30):
        await viewer.until_bytes(b".")
    port = int(viewer.seen.split(b"port ")[1].split(b".")[0])
    if not port:
        pytest.skip("that address is not there inside")
    return port


@asynccontextmanager
async def dialled(rt: Runtime, port: int) -> AsyncIterator[ClientWebSocketResponse]:
    async with rt.client.ws_connect(f"http://runtime/ports/{port}", max_msg_size=0) as ws:
        yield ws


async def all_of(ws: ClientWebSocketResponse) -> bytes:
    """Return what comes until the close."""
    return b"".join([each.data async for each in ws if each.type is WSMsgType.BINARY])


async def test_bytes_go_there_and_back_as_they_are() -> None:
    data = os.urandom(3 * ONE_MEGABYTE)
    async with runtime() as rt, listening(rt) as port, dialled(rt, port) as ws:

        async def send() -> None:
            for start in range(0, len(data), 65536):
                await ws.send_bytes(data[start : start + 65536])
            await ws.send_str(END)

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(send())
            got = tasks.create_task(all_of(ws))
        assert got.result() == data
        assert ws.close_code == 1000


async def test_port_of_the_other_loopback_is_reached_too() -> None:
    async with runtime() as rt, listening(rt, "::1") as port, dialled(rt, port) as ws:
        await ws.send_bytes(b"six")
        assert (await ws.receive_bytes(timeout=30)) == b"six"


async def test_port_that_listens_is_listed_while_it_does() -> None:
    async with runtime() as rt:
        async with listening(rt) as port:
            assert port in (await rt.call("GET", list_ports().path))[1]["ports"]
        async with asyncio.timeout(30):
            while port in (await rt.call("GET", list_ports().path))[1]["ports"]:
                pass


async def test_port_at_which_nobody_listens_is_told_by_its_close() -> None:
    async with runtime() as rt:
        async with listening(rt) as port:
            pass
        async with dialled(rt, port) as ws:
            assert await all_of(ws) == b""
            assert ws.close_code == NOBODY


async def test_connection_is_upgraded_only_where_somebody_listens() -> None:
    async with runtime() as rt:
        async with listening(rt) as port:
            url = f"http://runtime{CONNECTIONS_PATH}/{port}"
            async with rt.client.ws_connect(url) as ws:
                await ws.send_bytes(b"hello")
                assert await ws.receive_bytes(timeout=30) == b"hello"
        with pytest.raises(WSServerHandshakeError) as refused:
            await rt.client.ws_connect(url)
        assert refused.value.status == 409
        assert refused.value.headers is not None
        assert refused.value.headers[CODE_HEADER] == "nobody_listens"


async def test_connections_at_once_are_each_their_own() -> None:
    async def one(number: int) -> bytes:
        async with dialled(rt, port) as ws:
            await ws.send_bytes(b"%d" % number)
            return await ws.receive_bytes(timeout=60)

    async with runtime() as rt, listening(rt) as port:
        got = await asyncio.gather(*map(one, range(20)))
    assert got == [b"%d" % number for number in range(20)]


async def test_connection_beyond_the_bound_is_refused_until_another_ends() -> None:
    async with runtime() as rt, listening(rt) as port:
        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            enough, held = asyncio.Event(), asyncio.Semaphore(0)

            async def hold() -> None:
                async with dialled(rt, port) as ws:
                    await ws.send_bytes(b"x")
                    await ws.receive_bytes()
                    held.release()
                    await enough.wait()

            for _ in range(MAX_CONNECTIONS):
                tasks.create_task(hold())
            for _ in range(MAX_CONNECTIONS):
                await held.acquire()
            async with rt.client.get(
                f"http://runtime/ports/{port}",
                headers={
                    "Connection": "Upgrade", "Upgrade": "websocket",
                    "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
                },
            ) as refused:  # fmt: skip
                assert (await refused.json(content_type=None))["code"] == "limit_reached"
            enough.set()
        assert await _echoed_once_free(rt, port) == b"again"


async def _echoed_once_free(rt: Runtime, port: int) -> bytes:
    """Try until a connection that was left has ended; return what comes back."""
    async with asyncio.timeout(30):
        while True:
            try:
                async with dialled(rt, port) as ws:
                    await ws.send_bytes(b"again")
                    return await ws.receive_bytes()
            except WSServerHandshakeError as error:
                assert error.status == 429
