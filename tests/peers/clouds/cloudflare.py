"""A peer of Cloudflare: our Worker and the bridge's own code in workerd, over containers here.

Before it stands a door that counts the calls and does wrong what a test wants. Without Node, or
without the packages of `deploy/cloudflare`, there is no such peer.
"""

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import WSMsgType, web

from tests.peers.clouds.cloudflare_containers import Containers
from tests.peers.clouds.faults import Call, Fault, Faults
from tests.peers.clouds.machine import missing
from tests.peers.clouds.root_machine import RootMachine

KEY = "canary-of-the-vendors-key-0123456789abcdef"
FOLDER = Path(__file__).parents[3] / "deploy" / "cloudflare"
WORKERD = FOLDER / "node_modules" / "workerd"
NAMES = {"PUT": "create", "DELETE": "end", "POST": "renew", "GET": "list"}


def lacking() -> str | None:
    """Why there can be no peer here; None when there can."""
    if shutil.which("node") is None or not WORKERD.is_dir():
        return "needs Node, and `npm ci` in deploy/cloudflare"
    return missing()


@dataclass(frozen=True)
class SoldMachine:
    """A machine as the Worker has it. `machine` is None for one that only stands in its list."""

    id: str
    tags: dict[str, str]
    left: float
    container: str
    machine: RootMachine | None

    @property
    def is_closed(self) -> bool:
        """Whether it has no network."""
        return self.machine is None or self.machine.closed


class CloudflarePeer:
    """The vendor. `rented` counts every machine there ever was."""

    forgets_tokens = False
    lists_all = True
    noise = b""
    """Bytes that a terminal prints of its own after its first output."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.containers = Containers()
        self.url = self.worker = ""
        self.closing = asyncio.Event()
        self.loop = asyncio.get_running_loop()
        self.lines: set[asyncio.WriteTransport] = set()
        self.door = web.Application(client_max_size=64 * 1024 * 1024)
        self.door.router.add_route("*", "/{path:.*}", self._passed)

    @property
    def rented(self) -> int:
        """How many machines began."""
        return self.containers.begun

    @property
    def live(self) -> list[SoldMachine]:
        """The machines that the Worker has."""
        known = self.containers.running
        return [
            SoldMachine(
                **one,
                machine=known[one["container"]].machine if one["container"] in known else None,
            )
            for one in self._asked("all")
        ]

    def deadline(self, sold: SoldMachine) -> float:
        """Seconds that a machine has left."""
        return sold.left

    def advance(self, seconds: float) -> None:
        """Let the Worker's clock go on."""
        self._asked("advance", {"seconds": seconds})

    def stray(self, count: int, metadata: dict[str, str]) -> None:
        """Have machines in the list that nobody knows of."""
        self._asked("stray", {"count": count, "tags": metadata})

    def cut(self) -> None:
        """Cut every terminal, as a proxy that is restarted does."""
        for line in list(self.lines):
            self.loop.call_soon_threadsafe(line.abort)

    def end(self, sold: SoldMachine) -> None:
        """End a machine, as the platform does; one that only stands in the list is forgotten."""
        if sold.machine is None:
            self._asked("forget", {"id": sold.id})
        else:
            self.containers.end(sold.container)

    def empty(self) -> None:
        """Have the Worker know nothing, and forget what it was asked: a new vendor for a test, as
        to start a Worker takes more than a second of processor time."""
        self.faults.released.set()
        self.close()
        for one in self._asked("all"):
            self._asked("forget", {"id": one["id"]})
        self.faults, self.noise = Faults(), b""
        self.containers.begun = 0

    def close(self) -> None:
        """End every machine."""
        for container in list(self.containers.running):
            self.containers.end(container)

    def _asked(self, what: str, body: object = None) -> list[dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.worker}/test/{what}", data, timeout=60) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    async def _passed(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._joined(request)
        body = await request.read()
        name = "connect" if "/v1/sandbox" in request.path else NAMES[request.method]
        text = f"{request.url} {dict(request.headers)} {body.decode(errors='replace')}"
        self.faults.calls.append(Call(name, text.replace(KEY, "<key>")))
        fault = self.faults.next(name)
        if fault is Fault.BUSY:
            after = self.faults.retry_after
            return _problem(429, "too many", {"Retry-After": str(after)} if after else {})
        if fault is Fault.BROKEN:
            return _problem(503, "broken")
        if fault is Fault.REFUSED:
            return _problem(400, "no such template")
        if fault is Fault.HANGS:
            await self.closing.wait()
        await self._gated(name, "before")
        answer = await self._forwarded(request, body)
        await self._gated(name, "after")
        if fault is Fault.LOST and request.transport is not None:
            request.transport.abort()
        if fault is Fault.HALF and isinstance(answer.body, bytes):
            return web.Response(body=answer.body[: len(answer.body) // 2], status=answer.status)
        return answer

    async def _forwarded(self, request: web.Request, body: bytes) -> web.Response:
        headers = {
            name: value
            for name, value in request.headers.items()
            if name in ("Authorization", "Content-Type")
        }
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, self.worker + request.raw_path, data=body, headers=headers
            ) as answer,
        ):
            return web.Response(body=await answer.read(), status=answer.status)

    async def _joined(self, request: web.Request) -> web.StreamResponse:
        self.faults.calls.append(Call("pty", str(request.url)))
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with aiohttp.ClientSession() as session:
            try:
                far = await session.ws_connect(
                    self.worker + request.raw_path, headers=headers, max_msg_size=0
                )
            except aiohttp.WSServerHandshakeError as error:
                return _problem(error.status, error.message)
            near = web.WebSocketResponse(max_msg_size=0)
            await near.prepare(request)
            line: Any = request.transport
            self.lines.add(line)
            try:
                async with far, asyncio.TaskGroup() as group:
                    group.create_task(_copied(far, near, self.noise))
                    group.create_task(_copied(near, far))
            finally:
                self.lines.discard(line)
            return near

    async def _gated(self, name: str, when: str) -> None:
        if self.faults.gate is not None:
            await asyncio.to_thread(self.faults.gate, name, when)


async def _copied(source: Any, target: Any, noise: bytes = b"") -> None:
    with suppress(ConnectionError, aiohttp.ClientError):
        async for message in source:
            if message.type is WSMsgType.BINARY:
                await target.send_bytes(message.data)
                if noise and message.data.count(b"~") > 0:
                    await target.send_bytes(noise)
            elif message.type is WSMsgType.TEXT:
                await target.send_str(message.data)
    with suppress(ConnectionError, aiohttp.ClientError):
        await target.close()


@contextmanager
def cloudflare_peer() -> Iterator[CloudflarePeer]:
    """Yield a peer at a port that the system gives."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def done(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    async def made() -> CloudflarePeer:
        return CloudflarePeer()

    async def served(app: web.Application) -> tuple[web.AppRunner, str]:
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        return runner, f"{host}:{port}"

    async def closed() -> None:
        peer.closing.set()
        for runner in runners:
            await runner.cleanup()
        await peer.containers.settled()

    peer: CloudflarePeer = done(made())
    runners: list[web.AppRunner] = []
    worker: subprocess.Popen[bytes] | None = None
    temporary = tempfile.mkdtemp(prefix="at", dir="/tmp")
    try:
        runner, address = done(served(peer.containers.app))
        runners.append(runner)
        worker = subprocess.Popen(
            ["node", str(FOLDER / "test" / "serve.mjs"), KEY, address],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, "NODE_ENV": "test", "TMPDIR": temporary},
        )  # fmt: skip
        assert worker.stdout is not None
        peer.worker = worker.stdout.readline().decode().strip().rstrip("/")
        assert peer.worker.startswith("http"), "the Worker did not start"
        runner, address = done(served(peer.door))
        runners.append(runner)
        peer.url = f"http://{address}"
        yield peer
    finally:
        peer.faults.released.set()
        done(closed())
        if worker is not None:
            worker.communicate(timeout=30)
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            peer.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": message, "code": "refused"}, status=status, headers=headers)
