"""A shell on a machine of E2B, by its raw process calls: its convenience calls decode output as
text, and a link is bytes.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Literal, TypeVar

from e2b import AsyncSandbox
from e2b.connection_config import KEEPALIVE_PING_HEADER, KEEPALIVE_PING_INTERVAL_SEC
from e2b.envd.client_async import as_stream, create_rpc_client
from e2b.envd.process import process_connect, process_pb
from protobuf import Oneof

from atoll.adapters.extensions.e2b.errors import ProcessGone, understood
from atoll.adapters.linked.shell import Into, Ran
from atoll.adapters.rented.calls import Patience, patiently
from atoll.domain.errors import Failed, Unavailable
from atoll.ports.extension import VendorKey

CHUNK_BYTES = 256 * 1024
STREAM_BYTES = 64 * 1024
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
MAX_COMPLAINT = 500
INPUT_MILLISECONDS = 30_000
END_SECONDS = 5.0
_KEEPALIVE = {KEEPALIVE_PING_HEADER: str(KEEPALIVE_PING_INTERVAL_SEC)}
_T = TypeVar("_T")
_Events = AsyncGenerator[process_pb.StartResponse, None]


@dataclass(slots=True)
class Script:
    """A script that runs there: its process, what it complained of, and how it ended."""

    pid: int
    complaint: bytes = b""
    code: int | None = None

    @property
    def words(self) -> str:
        """The complaint as text."""
        return self.complaint.decode(errors="replace").strip()[:MAX_COMPLAINT]


class E2bShell:
    """`rented.vendor.RentedShell` of one machine, as its ordinary user."""

    def __init__(self, machine: AsyncSandbox, key: VendorKey, patience: Patience) -> None:
        self._machine = machine
        self._key = key
        self._patience = patience
        self._rpc = create_rpc_client(
            process_connect.ProcessClient, machine.envd_api_url, machine.connection_config
        )

    @property
    def label(self) -> str:
        """See `linked.shell.Shell`."""
        return f"machine {self._machine.sandbox_id} at E2B"

    async def run(self, script: str, *words: str, given: bytes = b"", seconds: float) -> Ran:
        """See `linked.shell.Shell`."""
        output = bytearray()
        try:
            async with (
                asyncio.timeout(seconds),
                self._started(script, words) as (ran, events),
                asyncio.TaskGroup() as group,
            ):
                feeding = group.create_task(self._fed(ran, given))
                async for data in events:
                    if len(output) + len(data) > MAX_OUTPUT_BYTES:
                        raise Failed(f"{self.label} prints without an end")
                    output += data
                feeding.cancel()
        except TimeoutError as error:
            raise Unavailable(f"{self.label} did not answer within {seconds:g} s") from error
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from group_error
        return Ran(_code(ran), bytes(output), ran.words)

    @asynccontextmanager
    async def pipe(self, script: str, *words: str) -> AsyncIterator[Into]:
        """See `linked.shell.Shell`."""
        async with self._started(script, words) as (ran, events):
            into = _Input(self, ran)
            yield into
            await into.drain()
            await self.close_input(ran)
            async for _ in events:
                pass
        if _code(ran):
            raise Failed(f"{self.label}: {ran.words or f'a command ended with {ran.code}'}")

    async def fetch(self, script: str, *words: str) -> AsyncIterator[bytes]:
        """See `rented.vendor.RentedShell`."""
        async with self._started(script, words) as (ran, events):
            await self.close_input(ran)
            async for data in events:
                yield data
        if _code(ran):
            raise Failed(f"{self.label}: {ran.words or f'a command ended with {ran.code}'}")

    async def stream(self, script: str, *words: str, near: socket.socket) -> str:
        """See `linked.shell.Shell`."""
        reader, writer = await asyncio.open_connection(sock=near.dup())
        try:
            async with self._started(script, words) as (ran, events), asyncio.TaskGroup() as group:
                sending = group.create_task(self._sent(ran, reader))
                async for data in events:
                    writer.write(data)
                    await writer.drain()
                sending.cancel()
        except BaseExceptionGroup as group_error:
            error = group_error.exceptions[0]
            if isinstance(error, ConnectionError):
                return ""
            raise error from group_error
        except ConnectionError:
            return ""
        finally:
            writer.close()
        return ran.words

    async def close(self) -> None:
        """See `linked.shell.Shell`; connections are the library's."""

    async def send(self, script: Script, data: bytes) -> None:
        """Send bytes of a script's input. A call that fails may have sent them: it is not tried
        again."""
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = bytes(data[start : start + CHUNK_BYTES])
            stdin: Oneof[Literal["stdin"], bytes] = Oneof(field="stdin", value=chunk)
            given = process_pb.ProcessInput(input=stdin)
            request = process_pb.SendInputRequest(process=_of(script), input=given)
            sent = self._rpc.send_input(request, timeout_ms=INPUT_MILLISECONDS)
            await self._understood(sent)

    async def close_input(self, script: Script) -> None:
        """End a script's input; one that has ended already is no error."""
        request = process_pb.CloseStdinRequest(process=_of(script))
        with suppress(ProcessGone):
            await self._understood(self._rpc.close_stdin(request, timeout_ms=INPUT_MILLISECONDS))

    @asynccontextmanager
    async def _started(
        self, script: str, words: tuple[str, ...]
    ) -> AsyncIterator[tuple[Script, AsyncGenerator[bytes, None]]]:
        """Yield a script that runs, and its output; its stream is closed at the end."""
        request = process_pb.StartRequest(
            process=process_pb.ProcessConfig(cmd="/bin/sh", args=["-c", script, "sh", *words]),
            stdin=True,
        )
        opened, events = await patiently(
            f"a command on {self.label}", lambda: self._opened(request), patience=self._patience
        )
        async with aclosing(events):
            ran = Script(opened)
            output = self._output(ran, events)
            async with aclosing(output):
                yield ran, output

    async def _opened(self, request: process_pb.StartRequest) -> tuple[int, _Events]:
        events = as_stream(self._rpc.start(request, headers=_KEEPALIVE))
        try:
            return _pid(await self._understood(anext(events)), self.label), events
        except StopAsyncIteration:
            raise Unavailable(f"{self.label} ended a command before it began") from None
        except BaseException:
            await events.aclose()
            raise

    async def _output(self, script: Script, events: _Events) -> AsyncGenerator[bytes, None]:
        while True:
            try:
                event = await self._understood(anext(events))
            except StopAsyncIteration:
                raise Unavailable(f"{self.label} cut a command's output") from None
            match _value(event):
                case process_pb.ProcessEvent.DataEvent() as data:
                    if out := _taken(script, data):
                        yield out
                case process_pb.ProcessEvent.EndEvent() as end:
                    script.code = end.exit_code if end.exited else end.exit_code or 1
                    return
                case _:
                    continue

    async def _fed(self, script: Script, given: bytes) -> None:
        """Send all of a script's input; one that does not read it is no error."""
        with suppress(ProcessGone):
            await self.send(script, given)
        await self.close_input(script)

    async def _sent(self, script: Script, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(STREAM_BYTES):
                await self.send(script, data)
        await self.close_input(script)
        await asyncio.sleep(END_SECONDS)
        raise Unavailable(f"{self.label} does not end a stream")

    async def _understood(self, call: Awaitable[_T]) -> _T:
        try:
            return await call
        except StopAsyncIteration:
            raise
        except Exception as error:
            raise understood(error, self.label, self._key) from error


class _Input:
    """The input of a script: what is written waits here until `drain` sends it."""

    def __init__(self, shell: E2bShell, script: Script) -> None:
        self._shell = shell
        self._script = script
        self._waiting = bytearray()

    def write(self, data: bytes, /) -> None:
        """See `linked.shell.Into`."""
        self._waiting += data

    async def drain(self) -> None:
        """See `linked.shell.Into`."""
        data = bytes(self._waiting)
        self._waiting.clear()
        await self._shell.send(self._script, data)


def _of(script: Script) -> process_pb.ProcessSelector:
    pid: Oneof[Literal["pid"], int] = Oneof(field="pid", value=script.pid)
    return process_pb.ProcessSelector(selector=pid)


def _pid(opened: process_pb.StartResponse, label: str) -> int:
    started = _value(opened)
    if not isinstance(started, process_pb.ProcessEvent.StartEvent):
        raise Unavailable(f"{label} began a command without its process")
    return started.pid


def _value(response: process_pb.StartResponse) -> object:
    """Return the event inside its two envelopes."""
    event = response.event.event if response.event is not None else None
    return None if event is None else event.value


def _taken(script: Script, data: process_pb.ProcessEvent.DataEvent) -> bytes:
    """Return what is output of an event; a complaint is kept, as far as there is room."""
    match data.output:
        case Oneof(field="stdout", value=out):
            return out
        case Oneof(field="stderr", value=complaint):
            script.complaint += complaint[: 4 * MAX_COMPLAINT - len(script.complaint)]
            return b""
        case _:
            return b""


def _code(script: Script) -> int:
    return 1 if script.code is None else script.code
