"""A whole runtime in this process for tests: real init, real PTYs, a real unix socket."""

import asyncio
import io
import json
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from atoll.ports.runtime_boot import Agent
from atoll.runtime.agents.agents import Agents
from atoll.runtime.agents.file_acts import FileActs
from atoll.runtime.agents.waking import Wakes
from atoll.runtime.api.announced_end import AnnouncedEnd
from atoll.runtime.api.app import build
from atoll.runtime.api.parts import Parts, promise_parts
from atoll.runtime.api.tracing import SpanBuffer
from atoll.runtime.doors.approvals.command_requests import CommandRequests
from atoll.runtime.execs.execs import Execs
from atoll.runtime.files.files import Files
from atoll.runtime.health import Activity
from atoll.runtime.idle_end import IdleEnd
from atoll.runtime.journal.control_plane import ControlPlane
from atoll.runtime.journal.journal import Journal
from atoll.runtime.listening import ListeningPorts
from atoll.runtime.policy.policy import StandingPolicy
from atoll.runtime.policy.redactions import Redactions
from atoll.runtime.ports import Ports
from atoll.runtime.recordings.recordings import Recordings
from atoll.runtime.recordings.shelf import RecordingLimits, RecordingStore
from atoll.runtime.settling import Settling
from atoll.runtime.sockets import Sockets
from atoll.runtime.spawners.init import InitSpawner
from atoll.runtime.spawners.local import local
from atoll.runtime.stage import MakeStage, PassThrough
from atoll.runtime.tasks import Tasks
from atoll.runtime.terminals.terminals import Defaults, Terminals
from atoll.runtime.workers.records import SPOOL_BYTES
from atoll.runtime.workers.workers import Workers
from atoll.wire.attach import ClientMessage, ServerMessage, Start, decode_server, encode

T = TypeVar("T")
Wall = Callable[[Path], AbstractAsyncContextManager[InitSpawner]]
BOUNDS = RecordingLimits()
usual_wall: Wall = local
"""What stands round a sandbox unless its test says so: the suites over a link replace it."""

ENV = (("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/tmp"), ("LANG", "C.UTF-8"))


@dataclass
class Runtime:
    """A served runtime and a client for it."""

    home: Path
    socket_path: Path
    client: aiohttp.ClientSession
    terminals: Terminals
    execs: Execs
    journal: Journal
    recordings: Recordings

    async def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """Status and decoded JSON (or bytes)."""
        raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        data = None if raw is None else io.BytesIO(raw)
        url = "http://runtime" + path
        async with self.client.request(
            method, url, data=data, params=params, headers=headers
        ) as reply:
            raw = await reply.read()
            is_json = reply.content_type in ("application/json", "application/problem+json")
            return reply.status, json.loads(raw) if is_json else raw

    async def open(self, *argv: str, **body: object) -> str:
        """A terminal running `argv`; its id."""
        status, session = await self.call("POST", "/sessions", {"argv": list(argv), **body})
        assert status == 201, session
        return str(session["session_id"])

    @asynccontextmanager
    async def attach(self, terminal_id: str, **query: object) -> AsyncIterator["Watcher"]:
        """A WebSocket on a terminal, after its start message."""
        params = {name: str(value) for name, value in query.items()}
        url = f"http://runtime/sessions/{terminal_id}/attach"
        async with self.client.ws_connect(url, params=params, max_msg_size=0) as ws:
            watcher = Watcher(ws)
            await watcher.begin()
            yield watcher


@asynccontextmanager
async def echo_socket(path: Path) -> AsyncIterator[None]:
    """A unix socket that sends back what it gets, and ends with it."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    path.parent.mkdir(exist_ok=True)
    async with await asyncio.start_unix_server(serve, path):
        yield


def abort(socket: aiohttp.ClientWebSocketResponse) -> None:
    """Cut a client's connection without a close."""
    connection = socket._response.connection
    assert connection is not None and connection.transport is not None
    connection.transport.abort()


class Watcher:
    """A client of a terminal: what it has seen, by offset."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.offset = 0
        self.seen = bytearray()
        self.messages: list[object] = []
        self.start: Start

    async def begin(self) -> None:
        message = decode_server((await self.ws.receive()).data)
        assert isinstance(message, Start)
        self.start, self.offset = message, message.offset

    async def step(self) -> bytes | ServerMessage | None:
        """Take one frame: bytes, a message, or None at the close."""
        frame = await self.ws.receive()
        if frame.type == aiohttp.WSMsgType.BINARY:
            output: bytes = frame.data
            self.seen += output
            self.offset += len(output)
            return output
        if frame.type == aiohttp.WSMsgType.TEXT:
            message = decode_server(frame.data)
            self.messages.append(message)
            return message
        return None

    async def until(self, kind: type[T]) -> T:
        """The next message of a kind."""
        while not isinstance(found := await self.step(), kind):
            assert found is not None, f"closed with {self.ws.close_code} before {kind}"
        return found

    async def until_bytes(self, text: bytes) -> None:
        """Until `text` has been seen."""
        while text not in self.seen:
            assert await self.step() is not None, f"closed before {text!r}: {self.seen[-200:]!r}"

    async def to_end(self) -> None:
        """Until the connection closes."""
        while await self.step() is not None:
            pass

    async def say(self, message: ClientMessage) -> None:
        await self.ws.send_str(encode(message))

    async def type(self, data: bytes) -> None:
        await self.ws.send_bytes(data)


@asynccontextmanager
async def runtime(
    *,
    token: str | None = None,
    agents: tuple[Agent, ...] = (),
    make_stage: MakeStage = PassThrough,
    bounds: RecordingLimits = BOUNDS,
    wall: Wall | None = None,
    kept: Path | None = None,
    spool_bytes: int = SPOOL_BYTES,
    secrets: tuple[str, ...] = (),
    env: tuple[tuple[str, str], ...] = ENV,
) -> AsyncIterator[Runtime]:
    """Serve a runtime whose sandbox is a plain child of this process, or what `wall` makes. Workers
    are in `kept`, which outlives it."""
    home = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    work, house = home / "w", home / "h"
    work.mkdir()
    house.mkdir()
    path = home / "rt.sock"
    journal = Journal(home / "journal")
    redactions = Redactions(secrets)
    workers = Workers(
        kept or home / "workers", redactions.json, spool_bytes, make_stage=redactions.stream
    )
    try:
        async with (wall or usual_wall)(work) as spawner, Tasks() as tasks:
            defaults = Defaults(("/bin/sh",), ENV, spawner.root)

            recordings = Recordings(
                RecordingStore(home / "rec", bounds), journal=journal, make_stage=make_stage
            )
            control_plane = ControlPlane()
            terminals = Terminals(
                spawner,
                defaults,
                journal=journal,
                tasks=tasks,
                on_open=recordings.opened,
                held_until=control_plane.held_until,
                make_stage=make_stage,
            )
            control_plane.subscribe(terminals.resume)
            speakers = Agents(spawner, agents, terminals, journal=journal, tasks=tasks)
            execs = Execs(
                spawner,
                env=env,
                cwd=spawner.root,
                journal=journal,
                tasks=tasks,
                make_pipe_stage=partial(redactions.stream, binary=True),
            )
            activity = Activity("sb_test", 1)
            app = build(token=token)
            promise_parts(app).set_result(
                Parts(
                    terminals=terminals,
                    agents=speakers,
                    file_acts=FileActs(),
                    wakes=Wakes(speakers, terminals),
                    workers=workers,
                    execs=execs,
                    files=Files(spawner),
                    journal=journal,
                    activity=activity,
                    asks=CommandRequests(journal.append),
                    ports=Ports(spawner),
                    sockets=Sockets(spawner, str(house)),
                    listening=ListeningPorts(spawner, activity, journal.append, busy=lambda: True),
                    recordings=recordings,
                    control_plane=control_plane,
                    policy=StandingPolicy(),
                    redactions=redactions,
                    own_usage=None,
                    settle_audit=lambda: None,
                    settling=Settling(None),
                    idle_end=IdleEnd(None, lambda: None),
                    ending=AnnouncedEnd(),
                    spans=SpanBuffer(),
                )
            )
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
            await runner.setup()
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(str(path))
            await web.SockSite(runner, listener).start()
            connector = aiohttp.UnixConnector(str(path))
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            try:
                async with aiohttp.ClientSession(connector=connector, headers=headers) as client:
                    yield Runtime(home, path, client, terminals, execs, journal, recordings)
            finally:
                workers.release()
                await runner.cleanup()
                recordings.close()
                terminals.hang_up()
                execs.close()
    finally:
        workers.close()
        journal.close()
        shutil.rmtree(home)
