"""The official SDKs go on listening over an outage that is longer than they wait by themselves."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from atoll.surfaces.mcp import standing
from tests.peers.mcp.node import CLIENT, lacking, node
from tests.surfaces.http.world import World, client_of
from tests.surfaces.mcp.conformance.test_typescript import Told

OUTAGE_SECONDS = 3.0
"""Longer than either SDK tries without a word of the server: 2 and 2.5 seconds."""


class Line:
    """A way to a server that can be cut: then nobody gets through, and what is open ends."""

    def __init__(self, host: str, port: int) -> None:
        self._at = host, port
        self._open: set[asyncio.StreamWriter] = set()
        self.is_cut = False

    def cut(self) -> None:
        self.is_cut = True
        for writer in self._open:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        back, out = await asyncio.open_connection(*self._at)
        self._open |= {writer, out}
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_pour(reader, out))
                both.create_task(_pour(back, writer))
        finally:
            self._open -= {writer, out}


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def line_to(atoll: World) -> AsyncIterator[tuple[Line, str]]:
    host, _, port = atoll.host.partition(":")
    line = Line(host, int(port))
    server = await asyncio.start_server(line.carry, "127.0.0.1", 0)
    try:
        yield line, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        line.cut()
        server.close()


async def _outlast(line: Line) -> None:
    """Cut the line for longer than an SDK waits by itself."""
    line.cut()
    await asyncio.sleep(OUTAGE_SECONDS)  # the time that is tested
    line.is_cut = False


async def _make(atoll: World, name: str) -> str:
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post("/v1/sandboxes?wait=ready", json={"name": name})
        return f"atoll://sandbox/{made.json()['sandbox_id']}"


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have clients come back soon after the outage. Python's counts a line that breaks as a try."""
    monkeypatch.setattr(standing, "RETRY_MILLISECONDS", 3500)


async def test_python_client_hears_of_changes_after_an_outage(atoll: World) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: object) -> None:
        uri = getattr(getattr(message, "params", None), "uri", None)
        if uri is not None:
            heard.put_nowait(str(uri))

    headers = {"Authorization": f"Bearer {atoll.token}"}
    async with line_to(atoll) as (line, url), httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode="legacy", message_handler=hear) as client:
            with pytest.warns(Warning, match="removed as of"):
                await client.session.subscribe_resource("atoll://sandbox/*")
            async with asyncio.timeout(30):
                first = await _make(atoll, "one")
                assert await _until(heard, first)
                await _outlast(line)
                second = await _make(atoll, "two")
                assert await _until(heard, second)


@pytest.mark.skipif(bool(lacking()), reason=str(lacking()))
async def test_typescript_client_hears_of_changes_after_an_outage(atoll: World) -> None:
    pipe = asyncio.subprocess.PIPE
    async with line_to(atoll) as (line, url):
        process = await asyncio.create_subprocess_exec(
            node(), CLIENT, url, atoll.token, "legacy", stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            told = Told(process.stdout)
            assert await told.until("listens")
            first = await _make(atoll, "one")
            assert await told.until("updated") == first
            await _outlast(line)
            second = await _make(atoll, "two")
            while await told.until("updated") != second:
                pass
        finally:
            process.stdin.close()
            await process.wait()


async def _until(heard: asyncio.Queue[str], uri: str) -> bool:
    while await heard.get() != uri:
        pass
    return True
