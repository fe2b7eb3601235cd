"""The process calls of a machine of Modal, by the `TaskCommandRouterBase` of Modal's own wheel.

As there, a process outlives the calls that started it, its output is read from any offset that is
still kept, and input that comes twice is taken once.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from grpclib import GRPCError, Status
from modal_proto import task_command_router_pb2 as pb
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from tests.peers.clouds.faults import Call, Fault, Faults
from tests.peers.clouds.machine import Machine

READ_BYTES = 32 * 1024
KEPT_BYTES = 1024 * 1024
MOST_BYTES = 4 * 1024 * 1024


class Output:
    """What a process printed and where it is read; what was read is kept for a while."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._base = 0
        self._ended = False
        self._changed = asyncio.Condition()

    async def pump(self, pipe: asyncio.StreamReader) -> None:
        """Take what comes, as far as there is room."""
        while data := await pipe.read(READ_BYTES):
            async with self._changed:
                await self._changed.wait_for(lambda: len(self._data) < MOST_BYTES)
                self._data += data
                self._changed.notify_all()
        async with self._changed:
            self._ended = True
            self._changed.notify_all()

    async def read(self, offset: int) -> AsyncIterator[bytes]:
        """Yield what stands there from an offset on, to the end."""
        while True:
            async with self._changed:
                await self._changed.wait_for(partial(self._has, offset))
                if offset < self._base:
                    raise GRPCError(Status.OUT_OF_RANGE, "not kept any more")
                start = offset - self._base
                data = bytes(self._data[start : start + READ_BYTES])
                if not data:
                    return
                offset += len(data)
                if (over := offset - KEPT_BYTES - self._base) > 0:
                    del self._data[:over]
                    self._base += over
                    self._changed.notify_all()
            yield data

    def _has(self, offset: int) -> bool:
        return self._ended or self._base + len(self._data) > offset


@dataclass
class Started:
    """A process that was started at a time of the vendor's clock."""

    process: asyncio.subprocess.Process
    began: float
    seconds: float
    out: Output = field(default_factory=Output)
    err: Output = field(default_factory=Output)
    written: int = 0
    closed: bool = False
    ended: float | None = None

    def active_until(self, now: float) -> float:
        """When its machine was last not idle because of it."""
        return min(self.began + self.seconds, now if self.ended is None else self.ended)

    def kill(self) -> None:
        """End it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@dataclass
class Task:
    """A machine's processes, as the router knows them. `machine` is None where none stands."""

    machine: Machine | None
    token: str
    started: dict[str, Started] = field(default_factory=dict)


def defaults(base: type) -> Any:
    """Return a service whose every call says that it is not implemented."""

    async def missing(_self: Any, stream: Any) -> None:
        await stream.recv_message()
        raise GRPCError(Status.UNIMPLEMENTED, "the peer does not know this call")

    return type("Missing", (base,), dict.fromkeys(base.__abstractmethods__, missing))  # type: ignore[attr-defined]


class Router(defaults(TaskCommandRouterBase)):  # type: ignore[misc]
    """The router of all machines. `find` returns a task that runs; `now` is the vendor's clock."""

    def __init__(
        self, faults: Faults, find: Callable[[str], Task | None], now: Callable[[], float]
    ) -> None:
        self._faults = faults
        self._find = find
        self._now = now
        self._pumps: set[asyncio.Task[None]] = set()
        self._all: list[asyncio.subprocess.Process] = []

    async def end(self) -> None:
        """Close what is open of processes, whose machines have ended."""
        for pump in list(self._pumps):
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)
        for process in self._all:
            with suppress(ProcessLookupError):
                process.kill()
            # Without it a later test is warned of a process that nobody waited for.
            await process.wait()
            process._transport.close()  # type: ignore[attr-defined]

    async def TaskExecStart(self, stream: Any) -> None:
        """Start a process; the same one again does nothing."""
        request, task = await self._asked("exec", stream)
        await self._gated("before")
        if request.exec_id not in task.started:
            assert task.machine is not None
            process = await asyncio.create_subprocess_exec(
                *task.machine.argv(*request.command_args),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
            self._all.append(process)
            seconds = request.timeout_secs or float("inf")
            started = Started(process, self._now(), seconds)
            task.started[request.exec_id] = started
            pump = asyncio.get_running_loop().create_task(self._pump(started))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)
        await self._gated("after")
        await stream.send_message(pb.TaskExecStartResponse())

    async def TaskExecStdinWrite(self, stream: Any) -> None:
        """Write to a process what it has not had."""
        request, task = await self._asked("input", stream)
        started = self._started(task, request.exec_id)
        stdin = started.process.stdin
        assert stdin is not None
        if request.offset > started.written:
            raise GRPCError(Status.OUT_OF_RANGE, "bytes are missing in between")
        new = request.data[started.written - request.offset :]
        if new and (started.closed or started.ended is not None):
            raise GRPCError(Status.FAILED_PRECONDITION, "the process does not read")
        started.written += len(new)
        try:
            stdin.write(new)
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            raise GRPCError(Status.FAILED_PRECONDITION, "the process does not read") from None
        if request.eof:
            started.closed = True
            stdin.close()
        await self._finish("input", stream, pb.TaskExecStdinWriteResponse())

    async def TaskExecStdioRead(self, stream: Any) -> None:
        """Send what a process prints, from an offset on."""
        request, task = await self._asked("output", stream)
        started = self._started(task, request.exec_id)
        errors = request.file_descriptor == pb.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR
        async for data in (started.err if errors else started.out).read(request.offset):
            await stream.send_message(pb.TaskExecStdioReadResponse(data=data))
            if not errors and self._faults.next("cut") is not None:
                raise GRPCError(Status.UNAVAILABLE, "cut")
        if self._find(request.task_id) is None:
            raise GRPCError(Status.NOT_FOUND, "the task has ended")

    async def TaskExecWait(self, stream: Any) -> None:
        """Wait for the end of a process."""
        request, task = await self._asked("wait", stream)
        code = await self._started(task, request.exec_id).process.wait()
        if self._find(request.task_id) is None:
            raise GRPCError(Status.NOT_FOUND, "the task has ended")
        ended = {"code": code} if code >= 0 else {"signal": -code}
        await stream.send_message(pb.TaskExecWaitResponse(**ended))

    async def _pump(self, started: Started) -> None:
        process = started.process
        assert process.stdout is not None and process.stderr is not None
        await asyncio.gather(started.out.pump(process.stdout), started.err.pump(process.stderr))
        await process.wait()
        started.ended = self._now()

    async def _gated(self, when: str) -> None:
        if self._faults.gate is not None:
            await asyncio.to_thread(self._faults.gate, "exec", when)

    async def _asked(self, name: str, stream: Any) -> tuple[Any, Task]:
        request = await stream.recv_message()
        self._faults.calls.append(Call(name, f"{dict(stream.metadata)} {request}"))
        if self._faults.next(name) is Fault.BROKEN:
            raise GRPCError(Status.INTERNAL, "broken")
        task = self._find(request.task_id)
        if task is None or task.machine is None:
            raise GRPCError(Status.NOT_FOUND, f"there is no task {request.task_id}")
        if stream.metadata.get("authorization") != f"Bearer {task.token}":
            raise GRPCError(Status.UNAUTHENTICATED, "wrong token")
        return request, task

    async def _finish(self, name: str, stream: Any, answer: Any) -> None:
        """Answer, or lose the answer after the deed."""
        if self._faults.next(f"{name} answer") is not None:
            raise GRPCError(Status.UNAVAILABLE, "lost")
        await stream.send_message(answer)

    def _started(self, task: Task, name: str) -> Started:
        if name not in task.started:
            raise GRPCError(Status.NOT_FOUND, f"there is no process {name}")
        return task.started[name]
