"""The process calls of a machine of E2B, as the ASGI app of E2B's own wheel takes them.

As on the real one a process outlives the stream that started it, and what nobody reads is lost.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext
from e2b.envd.process import process_pb
from e2b.envd.process.process_connect import Process
from protobuf import Oneof

from tests.peers.clouds.machine import Machine

READ_BYTES = 32 * 1024
WAITING = 64


class Started:
    """A process, and who reads it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.events: asyncio.Queue[Any] = asyncio.Queue(WAITING)
        self.is_read = True

    async def pump(self) -> None:
        """Pass on what it prints, and its end."""
        await asyncio.gather(
            self._pipe("stdout", self.process.stdout), self._pipe("stderr", self.process.stderr)
        )
        code = await self.process.wait()
        end = process_pb.ProcessEvent.EndEvent(
            exit_code=max(code, -1), exited=code >= 0, status=f"exit status {code}"
        )
        await self._put(Oneof("end", end))

    async def _pipe(self, name: Any, pipe: asyncio.StreamReader | None) -> None:
        assert pipe is not None
        while data := await pipe.read(READ_BYTES):
            event = process_pb.ProcessEvent.DataEvent(output=Oneof(name, data))
            await self._put(Oneof("data", event))

    async def _put(self, event: Any) -> None:
        while self.is_read:
            try:
                async with asyncio.timeout(0.2):
                    return await self.events.put(event)
            except TimeoutError:
                continue


class Processes(Process):
    """`process.Process` of all machines: the header says which one is meant."""

    def __init__(self, machine_of: Callable[[RequestContext[Any, Any]], Machine]) -> None:
        self._machine_of = machine_of
        self._started: dict[int, Started] = {}
        self._pumps: set[asyncio.Task[None]] = set()

    @property
    def running(self) -> int:
        """How many processes were started that have not ended."""
        return sum(one.process.returncode is None for one in self._started.values())

    async def start(
        self, request: process_pb.StartRequest, ctx: RequestContext[Any, Any], /
    ) -> AsyncIterator[process_pb.StartResponse]:
        """Start a process, and send what it prints."""
        machine = self._machine_of(ctx)
        config = request.process
        assert config is not None
        process = await asyncio.create_subprocess_exec(
            *machine.argv(config.cmd, *config.args),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        started = self._started[process.pid] = Started(process)
        pump = asyncio.get_running_loop().create_task(started.pump())
        self._pumps.add(pump)
        pump.add_done_callback(self._pumps.discard)
        try:
            yield _response(Oneof("start", process_pb.ProcessEvent.StartEvent(pid=process.pid)))
            while True:
                event = await started.events.get()
                yield _response(event)
                if event.field == "end":
                    return
        finally:
            started.is_read = False

    async def send_input(
        self, request: process_pb.SendInputRequest, ctx: RequestContext[Any, Any], /
    ) -> process_pb.SendInputResponse:
        """Write to a process."""
        self._machine_of(ctx)
        stdin = self._of(request.process).process.stdin
        assert stdin is not None and request.input is not None and request.input.input is not None
        try:
            stdin.write(request.input.input.value)
            await stdin.drain()
        except (ConnectionError, RuntimeError) as error:
            raise ConnectError(Code.NOT_FOUND, "the process does not read") from error
        return process_pb.SendInputResponse()

    async def close_stdin(
        self, request: process_pb.CloseStdinRequest, ctx: RequestContext[Any, Any], /
    ) -> process_pb.CloseStdinResponse:
        """End a process's input."""
        self._machine_of(ctx)
        stdin = self._of(request.process).process.stdin
        assert stdin is not None
        stdin.close()
        return process_pb.CloseStdinResponse()

    async def send_signal(
        self, request: process_pb.SendSignalRequest, ctx: RequestContext[Any, Any], /
    ) -> process_pb.SendSignalResponse:
        """Signal a process."""
        self._machine_of(ctx)
        self._of(request.process).process.send_signal(signal.SIGKILL)
        return process_pb.SendSignalResponse()

    def _of(self, selector: process_pb.ProcessSelector | None) -> Started:
        pid = selector.selector.value if selector is not None and selector.selector else 0
        started = self._started.get(int(pid))
        if started is None or started.process.returncode is not None:
            raise ConnectError(Code.NOT_FOUND, f"process {pid} not found")
        return started


def _response(event: Any) -> process_pb.StartResponse:
    return process_pb.StartResponse(event=process_pb.ProcessEvent(event=event))
