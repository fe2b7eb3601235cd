"""A peer of OpenShell: its gateway, on the `OpenShellServicer` of OpenShell's own wheel.

The unmodified library of OpenShell is its client, too. Sandboxes are namespaces of this machine
under the policy that their create named.
"""

import asyncio
import contextlib
import secrets
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import grpc
from openshell._proto import openshell_pb2 as pb
from openshell._proto import openshell_pb2_grpc as service
from openshell._proto import sandbox_pb2

from tests.peers.clouds.faults import Call, Fault, Faults
from tests.peers.clouds.http_api import PeerLoop, run_on
from tests.peers.clouds.openshell_machine import PolicyMachine

KEY = "osh_0123456789abcdef-canary-of-the-gateways-key"
READ_BYTES = 32 * 1024
BUSY = grpc.StatusCode.RESOURCE_EXHAUSTED
ENDED = (pb.SANDBOX_PHASE_COMPLETED, pb.SANDBOX_PHASE_ERROR)


@dataclass
class Made:
    """A sandbox. `machine` is None for one that only stands in the list."""

    id: str
    request: pb.CreateSandboxRequest
    machine: PolicyMachine | None = None
    phase: pb.SandboxPhase = pb.SANDBOX_PHASE_READY
    main: subprocess.Popen[bytes] | None = None
    is_over: bool = False
    turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def tags(self) -> dict[str, str]:
        """What it was tagged with."""
        return dict(self.request.labels)

    def shown(self) -> pb.Sandbox:
        """As an answer shows it."""
        self.look()
        sandbox = pb.Sandbox(spec=self.request.spec, status=pb.SandboxStatus(phase=self.phase))
        sandbox.metadata.id = sandbox.metadata.name = self.id
        sandbox.metadata.labels.update(self.request.labels)
        if self.phase in ENDED:
            sandbox.status.exit_code = 0
            sandbox.status.conditions.add(type="Ready", reason="MainProcessExited")
        return sandbox

    def look(self) -> None:
        """End the sandbox once its main process has ended."""
        if self.main is not None and self.main.poll() is not None and self.machine is not None:
            self.end()
            self.phase = pb.SANDBOX_PHASE_COMPLETED

    def begin(self) -> None:
        """Begin its machine and its main process, unless it was ended meanwhile."""
        spec = self.request.spec
        places = spec.policy.filesystem
        policy = {
            "read_only": list(places.read_only),
            "read_write": [*places.read_write, *(["/sandbox"] if places.include_workdir else [])],
        }
        with self.turn:
            if self.is_over:
                return
            machine = PolicyMachine(closed=not spec.policy.network_policies, policy=policy)
            machine.start()
            self.machine = machine
            if spec.command:
                argv = machine.argv(*spec.command)
                self.main = subprocess.Popen(argv, stdin=subprocess.DEVNULL)

    def end(self) -> None:
        """End its processes. One that begins just now is ended then, though nobody waits for it."""
        with self.turn:
            self.is_over = True
            machine, self.machine = self.machine, None
            if machine is not None:
                machine.end()
            if self.main is not None:
                self.main.wait(timeout=10)


class OpenShellPeer(service.OpenShellServicer):
    """The gateway. `made` are the sandboxes there are; `rented` counts every one there ever was."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.made: dict[str, Made] = {}
        self.rented = 0
        self.url = ""
        self.lists_all = False
        self.adds_rules = False
        self._execs: set[asyncio.Task[Any]] = set()
        self.loop: asyncio.AbstractEventLoop | None = None

    @property
    def live(self) -> list[Made]:
        """The sandboxes that run by now."""
        for one in list(self.made.values()):
            one.look()
        return [one for one in self.made.values() if one.phase not in ENDED]

    def ours(self, sandbox: str) -> list[Made]:
        """The running sandboxes with this tag."""
        return [one for one in self.live if one.request.labels.get("atoll-sandbox") == sandbox]

    def stray(self, count: int, labels: dict[str, str]) -> None:
        """Have sandboxes in the list that nobody knows of."""
        for _ in range(count):
            name = f"stray-{secrets.token_hex(6)}"
            self.made[name] = Made(name, pb.CreateSandboxRequest(name=name, labels=labels))

    def end(self, one: Made) -> None:
        """End the main process of a sandbox, as its deadline does."""
        assert one.main is not None
        one.end()
        one.phase = pb.SANDBOX_PHASE_COMPLETED

    def cut(self) -> None:
        """Cut every stream, as a gateway that is restarted does."""
        assert self.loop is not None
        for task in list(self._execs):
            self.loop.call_soon_threadsafe(task.cancel)

    def close(self) -> None:
        """End every sandbox."""
        for one in self.made.values():
            one.end()

    async def CreateSandbox(self, request: Any, context: Any) -> Any:
        async def act() -> Any:
            if request.name in self.made:
                await context.abort(grpc.StatusCode.ALREADY_EXISTS, "it exists")
            one = self.made[request.name] = Made(request.name, request)
            self.rented += 1
            await asyncio.to_thread(one.begin)
            return pb.SandboxResponse(sandbox=one.shown())

        return await self._answered("create", request, context, act)

    async def GetSandbox(self, request: Any, context: Any) -> Any:
        async def act() -> Any:
            one = await self._known(request.name, context)
            return pb.SandboxResponse(sandbox=one.shown())

        return await self._answered("get", request, context, act)

    async def ListSandboxes(self, request: Any, context: Any) -> Any:
        async def act() -> Any:
            pairs = request.label_selector.split(",")
            wanted = dict(pair.split("=", 1) for pair in pairs if pair)
            found = [
                one for one in self.made.values()
                if self.lists_all or wanted.items() <= dict(one.request.labels).items()
            ]  # fmt: skip
            start = int(request.page_token or 0)
            size = request.page_size or 100
            more = str(start + size) if start + size < len(found) else ""
            shown = [one.shown() for one in found[start : start + size]]
            return pb.ListSandboxesResponse(sandboxes=shown, next_page_token=more)

        return await self._answered("list", request, context, act)

    async def DeleteSandbox(self, request: Any, context: Any) -> Any:
        async def act() -> Any:
            one = self.made.pop(request.name, None)
            if one is None:
                if not request.allow_missing:
                    await context.abort(grpc.StatusCode.NOT_FOUND, "no such sandbox")
                return pb.DeleteSandboxResponse(outcome=pb.DELETION_OUTCOME_ALREADY_ABSENT)
            await asyncio.to_thread(one.end)
            return pb.DeleteSandboxResponse(outcome=pb.DELETION_OUTCOME_COMPLETED)

        return await self._answered("delete", request, context, act)

    async def GetSandboxConfig(self, request: Any, context: Any) -> Any:
        async def act() -> Any:
            one = await self._known(request.name, context)
            answer = sandbox_pb2.GetSandboxConfigResponse(policy=one.request.spec.policy)
            if self.adds_rules:
                answer.policy.network_policies["everything"].name = "everything"
            return answer

        return await self._answered("config", request, context, act)

    async def ExecSandbox(self, request: Any, context: Any) -> AsyncIterator[Any]:
        async def given() -> AsyncIterator[Any]:
            yield pb.ExecSandboxInput(start=request)
            yield pb.ExecSandboxInput(stdin=request.stdin)

        async for event in self.ExecSandboxInteractive(given(), context):
            yield event

    async def ExecSandboxInteractive(self, requests: Any, context: Any) -> AsyncIterator[Any]:
        start = (await anext(aiter(requests))).start
        self.faults.calls.append(Call("exec", str(start)))
        await self._allowed(context)
        one = await self._known(start.sandbox, context)
        if one.shown().status.phase != pb.SANDBOX_PHASE_READY or one.machine is None:
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, "sandbox is not ready")
        assert one.machine is not None
        process = await asyncio.create_subprocess_exec(
            *one.machine.argv(*start.command),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        events: asyncio.Queue[Any] = asyncio.Queue(8)
        spawn = asyncio.get_running_loop().create_task
        tasks = {
            spawn(_feed(process, requests)),
            spawn(_pump(process, events)),
        }
        mine = asyncio.current_task()
        assert mine is not None
        self._execs.add(mine)
        try:
            while True:
                event = await events.get()
                yield event
                if event.WhichOneof("payload") == "exit":
                    return
        finally:
            self._execs.discard(mine)
            for task in tasks:
                task.cancel()
            with suppress(ProcessLookupError):
                process.kill()

    async def _known(self, name: str, context: Any) -> Made:
        one = self.made.get(name)
        if one is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, "sandbox not found")
        assert one is not None
        return one

    async def _allowed(self, context: Any) -> None:
        said = dict(context.invocation_metadata()).get("authorization", "")
        if said != f"Bearer {KEY}":
            words = f"the token {said.removeprefix('Bearer ')} is not valid"
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, words)

    async def _answered(self, name: str, request: Any, context: Any, act: Callable[[], Any]) -> Any:
        self.faults.calls.append(Call(name, str(request)))
        await self._allowed(context)
        fault = self.faults.next(name)
        if fault is Fault.BUSY:
            await context.abort(BUSY, "too many")
        if fault is Fault.BROKEN:
            await context.abort(grpc.StatusCode.INTERNAL, "broken")
        if fault is Fault.REFUSED:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no such image")
        if fault is Fault.HANGS:
            await asyncio.sleep(3600)  # it hangs: its caller gives up
        await self._gated(name, "before")
        answer = await act()
        await self._gated(name, "after")
        if fault in (Fault.LOST, Fault.HALF):
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the connection was cut")
        return answer

    async def _gated(self, name: str, when: str) -> None:
        if self.faults.gate is not None:
            await asyncio.to_thread(self.faults.gate, name, when)


async def _feed(process: asyncio.subprocess.Process, requests: Any) -> None:
    stdin = process.stdin
    assert stdin is not None
    with suppress(ConnectionError, RuntimeError):
        async for message in requests:
            stdin.write(message.stdin)
            await stdin.drain()
    stdin.close()


async def _pump(process: asyncio.subprocess.Process, events: asyncio.Queue[Any]) -> None:
    async def pipe(stream: asyncio.StreamReader | None, made: Callable[[bytes], Any]) -> None:
        assert stream is not None
        while data := await stream.read(READ_BYTES):
            await events.put(made(data))

    def out(data: bytes) -> Any:
        return pb.ExecSandboxEvent(stdout=pb.ExecSandboxStdout(data=data))

    def err(data: bytes) -> Any:
        return pb.ExecSandboxEvent(stderr=pb.ExecSandboxStderr(data=data))

    await asyncio.gather(pipe(process.stdout, out), pipe(process.stderr, err))
    code = await process.wait()
    done = pb.ExecSandboxExit(exit_code=code if code >= 0 else 128 - code)
    await events.put(pb.ExecSandboxEvent(exit=done))


@contextmanager
def openshell_peer() -> Iterator[OpenShellPeer]:
    """Yield a peer at a port that the system gives."""
    peer = OpenShellPeer()
    started, over = threading.Event(), asyncio.Event()
    loop = PeerLoop()

    async def serve() -> None:
        server = grpc.aio.server()
        service.add_OpenShellServicer_to_server(peer, server)  # type: ignore[no-untyped-call]
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        peer.loop, peer.url = asyncio.get_running_loop(), f"http://127.0.0.1:{port}"
        started.set()
        await over.wait()
        await server.stop(0)
        await loop.reap()

    thread = threading.Thread(target=run_on, args=(loop, serve()))
    thread.start()
    try:
        assert started.wait(20), "the peer did not start"
        yield peer
    finally:
        assert peer.loop is not None
        peer.faults.released.set()
        peer.loop.call_soon_threadsafe(over.set)
        thread.join()
        with contextlib.suppress(OSError):
            peer.close()
