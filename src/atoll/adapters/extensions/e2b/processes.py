"""Processes on a machine of E2B, by its raw process calls."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from typing import Literal, TypeVar

from e2b import AsyncSandbox
from e2b.connection_config import KEEPALIVE_PING_HEADER, KEEPALIVE_PING_INTERVAL_SEC
from e2b.envd.client_async import as_stream, create_rpc_client
from e2b.envd.process import process_connect, process_pb
from protobuf import Oneof

from atoll.adapters.extensions.e2b.errors import translate_error
from atoll.adapters.rented.calls import Patience, call_with_retries, translate_errors
from atoll.adapters.rented.shell import ProcessGone, more_complaint
from atoll.domain.errors import Unavailable
from atoll.ports.extension import VendorKey

CHUNK_BYTES = 256 * 1024
INPUT_MILLISECONDS = 30_000
_KEEPALIVE = {KEEPALIVE_PING_HEADER: str(KEEPALIVE_PING_INTERVAL_SEC)}
_T = TypeVar("_T")
_Events = AsyncGenerator[process_pb.StartResponse, None]


class E2bProcesses:
    """`rented.shell.Processes` of one machine, as its ordinary user."""

    def __init__(self, machine: AsyncSandbox, key: VendorKey, patience: Patience) -> None:
        self._machine = machine
        self._key = key
        self._patience = patience
        self.rpc = create_rpc_client(
            process_connect.ProcessClient, machine.envd_api_url, machine.connection_config
        )

    @property
    def label(self) -> str:
        """See the protocol."""
        return f"machine {self._machine.sandbox_id} at E2B"

    @asynccontextmanager
    async def started(self, script: str, words: tuple[str, ...]) -> AsyncIterator["E2bScript"]:
        """See the protocol."""
        request = process_pb.StartRequest(
            process=process_pb.ProcessConfig(cmd="/bin/sh", args=["-c", script, "sh", *words]),
            stdin=True,
        )
        pid, events = await call_with_retries(
            f"a command on {self.label}",
            lambda: self._start_process(request),
            patience=self._patience,
        )
        async with aclosing(events):
            yield E2bScript(self, pid, events)

    async def translate_errors(self, call: Awaitable[_T]) -> _T:
        """Return the result of a call of the library, its errors translated into ours."""
        return await translate_errors(
            call, partial(translate_error, what=self.label, key=self._key)
        )

    async def _start_process(self, request: process_pb.StartRequest) -> tuple[int, _Events]:
        """Start a process; return its PID and its events. Raises `Unavailable`."""
        events = as_stream(self.rpc.start(request, headers=_KEEPALIVE))
        try:
            return _pid_of(await self.translate_errors(anext(events)), self.label), events
        except StopAsyncIteration:
            raise Unavailable(f"{self.label} ended a command before it began") from None
        except BaseException:
            await events.aclose()
            raise


class E2bScript:
    """`rented.shell.Script` of E2B."""

    def __init__(self, machine: E2bProcesses, pid: int, events: _Events) -> None:
        self.complaint = b""
        self.code = 1
        self._machine = machine
        self._pid = pid
        self._events = events

    async def output(self) -> AsyncGenerator[bytes, None]:
        """See the protocol."""
        while True:
            try:
                event = await self._machine.translate_errors(anext(self._events))
            except StopAsyncIteration:
                raise Unavailable(f"{self._machine.label} cut a command's output") from None
            match _event_of(event):
                case process_pb.ProcessEvent.DataEvent() as data:
                    if out := self._output_of(data):
                        yield out
                case process_pb.ProcessEvent.EndEvent() as end:
                    self.code = end.exit_code if end.exited else end.exit_code or 1
                    return
                case _:
                    continue

    async def send(self, data: bytes) -> None:
        """See the protocol. A call that fails may have sent the bytes: it is not tried again."""
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = bytes(data[start : start + CHUNK_BYTES])
            stdin: Oneof[Literal["stdin"], bytes] = Oneof(field="stdin", value=chunk)
            process_input = process_pb.ProcessInput(input=stdin)
            request = process_pb.SendInputRequest(process=self._selector(), input=process_input)
            call = self._machine.rpc.send_input(request, timeout_ms=INPUT_MILLISECONDS)
            await self._machine.translate_errors(call)

    async def close_input(self) -> None:
        """See the protocol."""
        request = process_pb.CloseStdinRequest(process=self._selector())
        call = self._machine.rpc.close_stdin(request, timeout_ms=INPUT_MILLISECONDS)
        with suppress(ProcessGone):
            await self._machine.translate_errors(call)

    def _selector(self) -> process_pb.ProcessSelector:
        pid: Oneof[Literal["pid"], int] = Oneof(field="pid", value=self._pid)
        return process_pb.ProcessSelector(selector=pid)

    def _output_of(self, data: process_pb.ProcessEvent.DataEvent) -> bytes:
        """Return the output in an event; a complaint is kept, as far as there is room."""
        match data.output:
            case Oneof(field="stdout", value=out):
                return out
            case Oneof(field="stderr", value=complaint):
                self.complaint = more_complaint(self.complaint, complaint)
                return b""
            case _:
                return b""


def _pid_of(response: process_pb.StartResponse, label: str) -> int:
    event = _event_of(response)
    if not isinstance(event, process_pb.ProcessEvent.StartEvent):
        raise Unavailable(f"{label} began a command without its process")
    return event.pid


def _event_of(response: process_pb.StartResponse) -> object:
    """Return the event inside its two envelopes."""
    event = response.event.event if response.event is not None else None
    return None if event is None else event.value
