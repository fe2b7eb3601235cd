"""Unix sockets inside, reached by a caller of the runtime: beneath the workspace and home alone."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType

from atoll.runtime import sockets
from atoll.wire.contract.ports import END, SOCKETS_PATH
from tests.runtime.stage import Runtime, echo_socket, runtime

UPGRADE = {
    "Connection": "Upgrade", "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
}  # fmt: skip


@pytest.fixture
async def rt() -> AsyncIterator[Runtime]:
    async with runtime() as made:
        yield made


@asynccontextmanager
async def connected(rt: Runtime, path: str) -> AsyncIterator[ClientWebSocketResponse]:
    url = f"http://runtime{SOCKETS_PATH}"
    async with rt.client.ws_connect(url, params={"path": path}, max_msg_size=0) as ws:
        yield ws


async def all_of(ws: ClientWebSocketResponse) -> bytes:
    return b"".join([each.data async for each in ws if each.type is WSMsgType.BINARY])


async def refusal(rt: Runtime, path: str) -> tuple[int, str]:
    """The status and code for which a connection is refused."""
    url = f"http://runtime{SOCKETS_PATH}"
    async with rt.client.get(url, params={"path": path}, headers=UPGRADE) as reply:
        return reply.status, (await reply.json(content_type=None))["code"]


@contextlib.contextmanager
def bound(
    path: Path, kind: int = socket.SOCK_STREAM, *, listens: bool = True
) -> Iterator[socket.socket]:
    """A socket by a path of any length."""
    with socket.socket(socket.AF_UNIX, kind) as made:
        folder = os.open(path.parent, os.O_PATH)
        made.bind(f"/proc/self/fd/{folder}/{path.name}")
        os.close(folder)
        if listens:
            made.listen()
        yield made


@pytest.mark.parametrize("folder", ["w", "h"])
async def test_bytes_go_there_and_back_as_they_are(rt: Runtime, folder: str) -> None:
    data = os.urandom(3 * 2**20)
    place = rt.home / folder / "deep" / "s"
    path = "deep/s" if folder == "w" else str(place)
    async with echo_socket(place), connected(rt, path) as ws:

        async def send() -> None:
            for start in range(0, len(data), 65536):
                await ws.send_bytes(data[start : start + 65536])
            await ws.send_str(END)

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(send())
            got = tasks.create_task(all_of(ws))
        assert got.result() == data
        assert ws.close_code == 1000


async def test_path_may_be_longer_than_an_address(rt: Runtime) -> None:
    deep = rt.home / "w" / ("d" * 200)
    deep.mkdir()
    with bound(deep / "s") as listening:
        listening.setblocking(False)
        async with connected(rt, f"{'d' * 200}/s") as ws:
            accepted, _ = await asyncio.get_running_loop().sock_accept(listening)
            with accepted:
                accepted.sendall(b"hello")
                assert (await ws.receive_bytes(timeout=30)) == b"hello"


async def test_link_within_the_workspace_is_followed(rt: Runtime) -> None:
    (rt.home / "w" / "link").symlink_to("echo/s")
    async with echo_socket(rt.home / "w" / "echo" / "s"), connected(rt, "link") as ws:
        await ws.send_bytes(b"x")
        assert (await ws.receive_bytes(timeout=30)) == b"x"


@pytest.mark.parametrize(
    "path",
    ["", ".", "/", "/workspace", "../out/s", "a/../../out/s", "/run/s", "\0abstract", "a\0b"],
)
async def test_path_elsewhere_is_refused(rt: Runtime, path: str) -> None:
    async with echo_socket(rt.home / "out" / "s"):
        assert await refusal(rt, path) == (422, "invalid_path")
        assert await refusal(rt, str(rt.home / "out" / "s")) == (422, "invalid_path")


@pytest.mark.parametrize("target", ["{home}/out/s", "../out/s", "/proc/self/root{home}/out/s"])
async def test_link_out_of_the_workspace_is_refused(rt: Runtime, target: str) -> None:
    (rt.home / "w" / "link").symlink_to(target.format(home=rt.home))
    (rt.home / "w" / "folder").symlink_to(rt.home / "out")
    async with echo_socket(rt.home / "out" / "s"):
        assert await refusal(rt, "link") == (403, "outside_workspace")
        assert await refusal(rt, "folder/s") == (403, "outside_workspace")


async def test_magic_link_of_a_process_is_refused(rt: Runtime) -> None:
    out = os.open(rt.home, os.O_PATH)
    try:
        (rt.home / "w" / "link").symlink_to(f"/proc/{os.getpid()}/fd/{out}/out/s")
        async with echo_socket(rt.home / "out" / "s"):
            assert await refusal(rt, "link") == (403, "outside_workspace")
    finally:
        os.close(out)


async def test_abstract_socket_is_never_reached(rt: Runtime) -> None:
    name = f"atoll-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")
        listening.listen()
        assert await refusal(rt, f"\0{name}") == (422, "invalid_path")
        assert await refusal(rt, f"@{name}") == (404, "no_such_file")


async def test_what_is_no_listening_socket_is_refused(rt: Runtime) -> None:
    work = rt.home / "w"
    (work / "file").write_text("x")
    (work / "folder").mkdir()
    os.mkfifo(work / "fifo")
    (work / "loop").symlink_to("loop")
    with bound(work / "datagram", socket.SOCK_DGRAM, listens=False):
        assert await refusal(rt, "datagram") == (422, "not_a_socket")
    with bound(work / "dead"):
        pass
    assert await refusal(rt, "dead") == (409, "nobody_listens")
    for name in ("file", "folder", "fifo"):
        assert await refusal(rt, name) == (422, "not_a_socket")
    assert await refusal(rt, "none") == (404, "no_such_file")
    assert await refusal(rt, "file/s") == (422, "not_a_directory")
    assert await refusal(rt, "loop") == (422, "is_a_link")
    assert await refusal(rt, "n" * 256) == (422, "invalid_path")


async def test_listener_that_accepts_nobody_is_given_up(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "CONNECT_SECONDS", 0.2)
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as first:
        full.bind(str(rt.home / "w" / "full"))
        full.listen(0)
        first.connect(str(rt.home / "w" / "full"))
        assert await refusal(rt, "full") == (503, "unavailable")


async def test_connection_beyond_the_bound_is_refused(
    rt: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets, "MAX_CONNECTIONS", 1)
    async with echo_socket(rt.home / "w" / "echo" / "s"), connected(rt, "echo/s"):
        assert await refusal(rt, "echo/s") == (429, "limit_reached")


async def test_request_without_an_upgrade_is_refused(rt: Runtime) -> None:
    async with echo_socket(rt.home / "w" / "echo" / "s"):
        assert (await rt.call("GET", f"{SOCKETS_PATH}?path=echo/s"))[0] == 422


async def test_sandbox_that_falls_asleep_connects_to_nothing(rt: Runtime) -> None:
    async with echo_socket(rt.home / "w" / "echo" / "s"):
        assert (await rt.call("POST", "/rest", {"idle_seconds": 0}))[0] == 200
        with pytest.raises(aiohttp.WSServerHandshakeError):
            async with connected(rt, "echo/s"):
                pass
