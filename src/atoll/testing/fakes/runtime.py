"""Runtimes without a socket: answers by method and path, and terminals that echo."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from atoll.adapters.runtimes.http_clients import read_answer
from atoll.domain.agents.registry import canonical_name
from atoll.domain.errors import Conflict, Invalid, NotFound, Unavailable
from atoll.domain.wall.probe import PROBE
from atoll.ports.extension import Reachability
from atoll.ports.runtime import (
    ByteConnection,
    Channel,
    ExecPipe,
    HandoverLink,
    Output,
    PipeEvent,
    RuntimeClient,
    RuntimeStream,
)
from atoll.services.provisioning.inside_agents import LOOK
from atoll.services.provisioning.seeds import SEED
from atoll.wire.contract.call import Query, RuntimeCall
from atoll.wire.contract.exec_pipe import PATH as PIPE_PATH
from atoll.wire.contract.exec_pipe import SIGNALS, OutputEnd, PipeBody, ProgramExit, Stream
from atoll.wire.contract.ports import CONNECTIONS_PATH, SOCKETS_PATH
from atoll.wire.contract.terminals import End

T = TypeVar("T")

_COUNTED = ("generation", "pid", "sessions", "execs", "attached")
_NAMED = ("sandbox_id", "version", "started_at")
_HEALTH: dict[str, object] = {**dict.fromkeys(_COUNTED, 0), **dict.fromkeys(_NAMED, "")}


CLOSED_WALL = """\
status Uid:\t1000\t1000\t1000\t1000
status CapPrm:\t0
status CapEff:\t0
status NoNewPrivs:\t1
status Seccomp:\t2
dev lo: 0 0
memory 1073741824
pids 512
"""
"""The output of a probe inside a wall without a fault."""


_OURS = frozenset({SEED.text, LOOK.text})


class FakeChannel:
    """A `ports.runtime.Channel` to a terminal that sends each frame back and never closes."""

    close_code: int | None = None

    def __init__(self) -> None:
        self._frames: asyncio.Queue[bytes | str | None] = asyncio.Queue()
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes | str]:
        """Yield what was sent, until the channel is closed."""
        while (frame := await self._frames.get()) is not None:
            yield frame

    async def send(self, frame: bytes | str) -> None:
        """See the port."""
        if self._closed:
            raise Unavailable("The terminal's connection is closed.")
        self._frames.put_nowait(frame)

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """See the port."""
        if not self._closed:
            self._closed = True
            self._frames.put_nowait(None)


class FakePipe:
    """A `ports.runtime.ExecPipe` to a program that writes what it reads, as `cat` does. A signal
    ends it."""

    exec_id = "x_fake"

    def __init__(self) -> None:
        self._events: asyncio.Queue[PipeEvent | None] = asyncio.Queue()
        self._over = self._left = False

    async def __aiter__(self) -> AsyncIterator[PipeEvent]:
        """See the port."""
        while (event := await self._events.get()) is not None:
            yield event
            if isinstance(event, ProgramExit):
                return
        raise Unavailable("The pipe is closed.")

    async def write(self, data: bytes) -> None:
        """See the port."""
        self._check()
        if self._over:
            raise Conflict("The program's input is closed.", code="input_closed")
        self._events.put_nowait(Output(Stream.STDOUT, data))

    async def write_eof(self) -> None:
        """See the port."""
        self._check()
        self._exit(End(code=0))

    async def signal(self, name: str) -> None:
        """See the port."""
        if name not in SIGNALS:
            raise Invalid(f"{name!r} is no signal.", field="signal")
        self._check()
        self._exit(End(signal=name))

    async def close(self) -> None:
        """See the port."""
        self._left = True
        self._events.put_nowait(None)

    def _check(self) -> None:
        if self._left:
            raise Unavailable("The pipe is closed.")

    def _exit(self, end: End) -> None:
        if not self._over:
            self._over = True
            for event in (OutputEnd("stdout"), OutputEnd("stderr"), ProgramExit(end)):
                self._events.put_nowait(event)


class FakeConnection:
    """A `ports.runtime.ByteConnection` that sends back what it gets, and ends with it."""

    def __init__(self) -> None:
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """See the port."""
        while (piece := await self._pieces.get()) is not None:
            yield piece

    async def write(self, data: bytes) -> None:
        """See the port."""
        if self._closed:
            raise Unavailable("The connection is closed.")
        self._pieces.put_nowait(data)

    async def write_eof(self) -> None:
        """See the port."""
        if self._closed:
            raise Unavailable("The connection is closed.")
        self._pieces.put_nowait(None)

    async def close(self) -> None:
        """See the port."""
        self._closed = True
        self._pieces.put_nowait(None)


class WorkerInMemory:
    """A worker without an agent: each request is answered at once with its own params."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._receipts: dict[str, dict[str, Any]] = {}
        self._entries: list[dict[str, Any]] = []
        self._acknowledged = 0

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the one receipt of a request. Raises `Conflict`."""
        name = str(body["request_id"])
        params = body.get("params", {})
        digest = json.dumps([body["method"], params], sort_keys=True)
        if self._digests.setdefault(name, digest) != digest:
            raise Conflict("The request was made before with other content.", code="conflict")
        if name not in self._receipts:
            n = len(self._entries) + 1
            receipt = {"request_id": name, "kind": "response", "n": n, "data": params}
            self._receipts[name] = receipt
            self._entries.append({**receipt, "at": "2026-01-01T00:00:00Z"})
        return {"receipt": self._receipts[name]}

    def page(self, after: int, limit: int) -> dict[str, Any]:
        """Return entries above `after`."""
        floor = max(after, self._acknowledged)
        entries = [entry for entry in self._entries if entry["n"] > floor][:limit]
        last, full = len(self._entries), False
        return {"entries": entries, "last": last, "acknowledged": self._acknowledged, "full": full}

    def acknowledge(self, n: int) -> None:
        """Hide entries up to `n`."""
        self._acknowledged = max(self._acknowledged, min(n, len(self._entries)))


@dataclass
class FakeRuntimes:
    """A `ports.runtime.RuntimeClients` where one runtime is behind every address.

    `answers` holds status and document by method and path; the health and the journal are answered
    of themselves, and anything else is not found. `terminals` names the paths that can be attached
    to, `sockets` the sockets inside, `listening` the ports. Whatever a pipe runs is a `FakePipe`;
    `pipes` lists that.
    `calls` lists the requests. `gate`, when set, holds back every answer until a test sets the
    event. Nothing answers while `down`. `health` is what the health says besides, and `wall` the
    answer to a probe of the wall. `workers` are served by id. `programs` are the agents whose
    programs are inside: no other starts.
    """

    calls: list[RuntimeCall[Any]] = field(default_factory=list)
    pipes: list[PipeBody] = field(default_factory=list)
    sockets: set[str] = field(default_factory=set)
    listening: set[int] = field(default_factory=set)
    answers: dict[tuple[str, str], tuple[int, object]] = field(default_factory=dict)
    journal: list[dict[str, object]] = field(default_factory=list)
    terminals: set[str] = field(default_factory=set)
    idle_seconds: float = 0.0
    unused_seconds: float | None = None
    down: bool = False
    gate: asyncio.Event | None = None
    health: dict[str, object] = field(default_factory=dict)
    wall: bytes = field(default_factory=lambda: probe_answer(CLOSED_WALL))
    workers: dict[str, WorkerInMemory] = field(default_factory=dict)
    programs: set[str] = field(
        default_factory=lambda: {"shell", "codex", "claude-code", "opencode"}
    )

    async def call(self, call: RuntimeCall[T]) -> T:
        """See the port."""
        status, document = await self._reply(call)
        return read_answer(call, status, json.dumps(document).encode())

    @asynccontextmanager
    async def stream(self, call: RuntimeCall[bytes]) -> AsyncIterator[RuntimeStream]:
        """See the port."""
        looking = call.path == "/execs" and PROBE in _script_of(call)
        own = call.path == "/execs" and _script_of(call) in _OURS
        whole = self.wall if looking else await (self._run_ours(call) if own else self.call(call))

        async def body() -> AsyncIterator[bytes]:
            # An exec streams its answer as lines.
            yield whole + b"\n" if call.path == "/execs" else whole

        yield RuntimeStream(200, (), body())

    async def _run_ours(self, call: RuntimeCall[bytes]) -> bytes:
        """Answer a script about agents: laying them out succeeds, and a look finds `programs`."""
        status, document = await self._reply(call)
        if status not in (200, 404):
            return read_answer(call, status, json.dumps(document).encode())
        words = json.loads(call.body if isinstance(call.body, bytes) else b"{}")["argv"]
        looked = words[2] == LOOK.text
        missing = looked and words[4].split("/")[-3] not in self.programs
        return json.dumps({"exit": {"exit_code": int(missing)}}).encode()

    @asynccontextmanager
    async def attach(self, path: str, query: Query = ()) -> AsyncIterator[Channel]:
        """See the port."""
        self._check(path)
        if path not in self.terminals:
            raise NotFound(f"There is no terminal at {path}.")
        channel = FakeChannel()
        try:
            yield channel
        finally:
            await channel.close()

    @asynccontextmanager
    async def pipe(self, body: PipeBody) -> AsyncIterator[ExecPipe]:
        """See the port."""
        self._check(PIPE_PATH)
        if [body.argv, body.shell, body.tool].count(None) != 2:
            raise Invalid("Give one of argv, shell and tool.", field="argv")
        pipe = FakePipe()
        self.pipes.append(body)
        try:
            yield pipe
        finally:
            await pipe.close()

    @asynccontextmanager
    async def socket(self, path: str) -> AsyncIterator[ByteConnection]:
        """See the port."""
        self._check(SOCKETS_PATH)
        if path not in self.sockets:
            raise NotFound("There is no such socket.", code="no_such_file")
        async with _connection() as connection:
            yield connection

    @asynccontextmanager
    async def port(self, number: int) -> AsyncIterator[ByteConnection]:
        """See the port."""
        self._check(f"{CONNECTIONS_PATH}/{number}")
        if number not in self.listening:
            raise Conflict("Nothing listens there.", code="nobody_listens")
        async with _connection() as connection:
            yield connection

    @asynccontextmanager
    async def request_handover(
        self, path: str, query: Query = ()
    ) -> AsyncIterator[HandoverLink | None]:
        """Offer no handover, as a runtime that is reached over TCP."""
        _check_path(path)
        yield None

    def client(self, reach: Reachability) -> RuntimeClient:
        """See the port."""
        return self

    async def close(self) -> None:
        """Answer nothing from now on."""
        self.down = True

    async def _reply(self, call: RuntimeCall[T]) -> tuple[int, object]:
        self.calls.append(call)
        if self.gate is not None:
            await self.gate.wait()
        self._check(call.path)
        query = dict(call.query)
        match call.path:
            case "/health":
                unused = self.unused_seconds
                used = self.idle_seconds if unused is None else unused
                idle = {"idle_seconds": self.idle_seconds, "unused_seconds": used}
                return 200, _HEALTH | idle | self.health
            case "/journal":
                after = int(query["after"])
                entries = [entry for entry in self.journal if int(str(entry["n"])) > after]
                return 200, {"entries": entries, "last": len(self.journal), "dropped": 0}
            case "/journal/ack" | "/farewell":
                return 204, None
            case path if path.startswith("/workers/"):
                return self._of_worker(call, path.split("/")[2:], query)
            case "/agents" | "/sessions" if (name := self._find_absent(call)) is not None:
                problem = {"code": "agent_not_inside", "field": "agent"}
                return 422, problem | {"detail": f"the agent {name} is not in this sandbox"}
            case _:
                return self.answers.get((call.method, call.path), (404, {"code": "not_found"}))

    def _find_absent(self, call: RuntimeCall[T]) -> str | None:
        """Return the agent that a call would start, where its program is not inside."""
        body = json.loads(call.body) if isinstance(call.body, bytes) else {}
        name = None if call.method != "POST" else body.get("agent")
        return None if name is None or canonical_name(name) in self.programs else name

    def _of_worker(
        self, call: RuntimeCall[T], path: list[str], query: dict[str, str]
    ) -> tuple[int, object]:
        worker = self.workers.get(path[0])
        body = json.loads(call.body) if isinstance(call.body, bytes) else {}
        if worker is None:
            return 404, {"code": "not_found"}
        match path[1:]:
            case ["requests"]:
                try:
                    return 200, worker.request(body)
                except Conflict as error:
                    return 409, {"code": error.code, "detail": error.message}
            case ["spool"]:
                return 200, worker.page(int(query["after"]), int(query["limit"]))
            case ["spool", "ack"]:
                worker.acknowledge(body["n"])
                return 204, None
            case _:
                return 404, {"code": "not_found"}

    def _check(self, path: str) -> None:
        _check_path(path)
        if self.down:
            raise Unavailable("The runtime does not answer.")


def _script_of(call: RuntimeCall[bytes]) -> str:
    """Return the script that an exec runs, or whatever its third word is."""
    body = json.loads(call.body) if isinstance(call.body, bytes) else {}
    return str([*body.get("argv", ()), "", "", ""][2])


def probe_answer(text: str) -> bytes:
    """Return an exec's answer with what a probe printed."""
    data = base64.b64encode(text.encode()).decode()
    lines = {"stream": "stdout", "data": data}, {"exit": {"exit_code": 0}}
    return b"\n".join(json.dumps(line).encode() for line in lines)


def _check_path(path: str) -> None:
    if not path.startswith("/") or {".", ".."} & set(path.split("/")):
        raise Invalid(f"{path!r} is not a path of the runtime contract")


@asynccontextmanager
async def _connection() -> AsyncIterator[FakeConnection]:
    connection = FakeConnection()
    try:
        yield connection
    finally:
        await connection.close()
