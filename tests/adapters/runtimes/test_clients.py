"""Connections to runtimes: unix and TCP, reuse, bounds, and every failure as `Unavailable`."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from atoll.adapters.runtimes.http_clients import HttpRuntimeClients, Settings
from atoll.domain.errors import Conflict, Failed, Invalid, NoConnection, Unavailable
from atoll.domain.wall.isolation import Isolation
from atoll.ports.extension import Reachability
from atoll.testing import FakeRuntimes, RuntimeClientsContract
from atoll.testing.contracts.runtime import SOCKET
from atoll.testing.fakes.runtime import WorkerInMemory
from atoll.wire.contract.call import RuntimeCall, bytes_call
from atoll.wire.contract.exec_pipe import PipeBody
from atoll.wire.words.walls import IsolationLevel
from tests.runtime.stage import echo_socket, runtime
from tests.runtime.workers.stage import served
from tests.surfaces.http.world import ScriptedRuntime, runtime_on, short_folder

WALL = Isolation(IsolationLevel.NONE, "none")


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    async with short_folder() as made:
        yield made


@pytest.fixture
async def clients() -> AsyncIterator[HttpRuntimeClients]:
    made = HttpRuntimeClients(Settings(connect_seconds=2, max_reply_bytes=1024 * 1024))
    yield made
    await made.close()


def status_of(status: int, _body: bytes) -> int:
    return status


def _reach(path: Path) -> Reachability:
    return Reachability(f"unix:{path}", WALL)


async def test_call_over_a_unix_socket_gives_status_headers_and_body(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    async with runtime_on(folder / "s") as runtime:
        query = (("a", "b c&d"),)
        call = RuntimeCall("POST", "/sessions/t_1/signal", status_of, query, body=b"{}")
        status = await clients.client(_reach(folder / "s")).call(call)
    assert status == 204
    assert runtime.asked == [("POST", "/sessions/t_1/signal", {"a": "b c&d"}, b"{}")]


async def test_call_over_tcp_carries_the_token(clients: HttpRuntimeClients) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=request.headers["Authorization"])

    runner = web.AppRunner(_app(answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    try:
        reach = Reachability(f"http://127.0.0.1:{port}", WALL, token="abc")
        body = await clients.client(reach).call(bytes_call("/x"))
    finally:
        await runner.cleanup()
    assert body == b"Bearer abc"
    assert "abc" not in repr(reach)


def _app(answer: object) -> web.Application:
    app = web.Application()
    app.router.add_get("/{rest:.*}", answer)  # type: ignore[arg-type]
    return app


async def test_calls_in_a_row_share_one_connection(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    seen: set[int] = set()

    async def answer(request: web.Request) -> web.Response:
        seen.add(id(request.transport))
        return web.Response(text="x")

    runner = web.AppRunner(_app(answer))
    await runner.setup()
    await web.UnixSite(runner, str(folder / "s")).start()
    try:
        for _ in range(20):
            await clients.client(_reach(folder / "s")).call(bytes_call("/x"))
    finally:
        await runner.cleanup()
    assert len(seen) == 1


async def test_call_to_nobody_is_unavailable_without_the_hosts_paths(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    client = clients.client(_reach(folder / "none"))
    with pytest.raises(NoConnection) as refused:
        await client.call(bytes_call("/health"))
    assert str(folder) not in refused.value.message
    with pytest.raises(NoConnection):
        async with client.stream(bytes_call("/health")):
            pass
    with pytest.raises(NoConnection):
        async with client.attach("/sessions/t_1/attach"):
            pass


async def test_redirect_of_a_runtime_is_handed_on_never_followed(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    async def answer(_: web.Request) -> web.Response:
        raise web.HTTPFound("http://169.254.169.254/")

    runner = web.AppRunner(_app(answer))
    await runner.setup()
    await web.UnixSite(runner, str(folder / "s")).start()
    try:
        call = RuntimeCall("GET", "/x", status_of)
        status = await clients.client(_reach(folder / "s")).call(call)
    finally:
        await runner.cleanup()
    assert status == 302


async def test_answer_past_the_bound_is_refused(folder: Path, clients: HttpRuntimeClients) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=b"x" * (1024 * 1024 + 1))

    runner = web.AppRunner(_app(answer))
    await runner.setup()
    await web.UnixSite(runner, str(folder / "s")).start()
    try:
        with pytest.raises(Failed):
            await clients.client(_reach(folder / "s")).call(bytes_call("/x"))
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("path", ["/sessions/..", "/a/./b", "sessions", ""])
async def test_path_that_could_lead_elsewhere_is_refused(
    folder: Path, clients: HttpRuntimeClients, path: str
) -> None:
    with pytest.raises(Invalid):
        await clients.client(_reach(folder / "s")).call(bytes_call(path))


@pytest.mark.parametrize("address", ["file:///etc", "unix:relative", "ftp://h", ""])
async def test_address_of_another_kind_is_refused(
    clients: HttpRuntimeClients, address: str
) -> None:
    with pytest.raises(Failed):
        clients.client(Reachability(address, WALL))


async def test_error_of_the_streams_reader_is_its_own(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    async with runtime_on(folder / "s"):
        client = clients.client(_reach(folder / "s"))
        with pytest.raises(BrokenPipeError):
            async with client.stream(bytes_call("/execs/e_1/output")):
                raise BrokenPipeError


async def test_stream_left_early_is_closed_at_the_runtime(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    async with runtime_on(folder / "s") as runtime:
        call = bytes_call("/files/watch", query=(("path", "hold"),))
        async with clients.client(_reach(folder / "s")).stream(call) as answer:
            assert await anext(answer.body)
        async with asyncio.timeout(5):
            await runtime.stream_left.wait()


async def test_channel_of_a_runtime_killed_has_no_close_code(
    folder: Path, clients: HttpRuntimeClients
) -> None:
    async with (
        runtime_on(folder / "s") as runtime,
        clients.client(_reach(folder / "s")).attach("/sessions/t_1/attach") as channel,
    ):
        frames = aiter(channel)
        assert await anext(frames)
        runtime.abort_connections()
        assert [frame async for frame in frames] == []
        assert channel.close_code is None
        with pytest.raises(Unavailable):
            await channel.send(b"x")


async def test_runtimes_past_the_bound_push_idle_connections_out(folder: Path) -> None:
    clients = HttpRuntimeClients(Settings(max_runtimes=2))
    try:
        for name in ("a", "b", "c", "d"):
            async with runtime_on(folder / name) as runtime:
                assert isinstance(runtime, ScriptedRuntime)
                await clients.client(_reach(folder / name)).call(bytes_call("/health"))
        assert clients.held == 2
    finally:
        await clients.close()


async def test_call_after_close_is_unavailable(folder: Path) -> None:
    clients = HttpRuntimeClients()
    await clients.close()
    with pytest.raises(Unavailable):
        await clients.client(_reach(folder / "s")).call(bytes_call("/health"))


class TestHttpRuntimeClients(RuntimeClientsContract):
    @pytest.fixture
    async def clients(self) -> AsyncIterator[HttpRuntimeClients]:
        made = HttpRuntimeClients()
        yield made
        await made.close()

    @pytest.fixture
    async def living(self, folder: Path) -> AsyncIterator[Reachability]:
        async with runtime_on(folder / "s"):
            yield _reach(folder / "s")

    @pytest.fixture
    async def working(self, folder: Path) -> AsyncIterator[Reachability]:
        async with served(folder) as worker:
            yield _reach(worker.rt.socket_path)

    @pytest.fixture
    async def running(self) -> AsyncIterator[Reachability]:
        async with runtime() as rt, echo_socket(rt.home / "w" / SOCKET):
            yield _reach(rt.socket_path)

    @pytest.fixture
    def dead(self) -> Reachability:
        return _reach(Path("/nonexistent/s"))

    async def test_runtime_that_knows_no_pipes_says_so(
        self, clients: HttpRuntimeClients, living: Reachability
    ) -> None:
        with pytest.raises(Conflict) as refused:
            async with clients.client(living).pipe(PipeBody(argv=["cat"])):
                pass
        assert refused.value.code == "runtime_outdated"
        with pytest.raises(Conflict):
            async with clients.client(living).socket(SOCKET):
                pass


class TestFakeRuntimes(RuntimeClientsContract):
    @pytest.fixture
    def clients(self) -> FakeRuntimes:
        return FakeRuntimes(terminals={"/sessions/t_1/attach"}, sockets={SOCKET})

    @pytest.fixture
    def living(self) -> Reachability:
        return _reach(Path("/fake/s"))

    @pytest.fixture
    def working(self, clients: FakeRuntimes) -> Reachability:
        clients.workers["w1"] = WorkerInMemory()
        return _reach(Path("/fake/s"))

    @pytest.fixture
    def running(self) -> Reachability:
        return _reach(Path("/fake/s"))

    @pytest.fixture
    def dead(self, clients: FakeRuntimes) -> Reachability:
        clients.down = True
        return _reach(Path("/fake/s"))
