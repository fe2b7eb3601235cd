"""A shell on a rented machine, over a vendor's process calls: a start, input, output, an end.

Convenience calls of a vendor's library decode output as text, and a link is bytes. So an adapter
gives the raw calls, and what a shell does with them stands here.
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from atoll.adapters.linked.shell import ScriptInput, ScriptResult
from atoll.domain.errors import Failed, Unavailable

STREAM_BYTES = 64 * 1024
MAX_OUTPUT_BYTES = 4 * 1024 * 1024
MAX_COMPLAINT = 500
END_SECONDS = 2.0
"""The time for a script to end once its input has."""


class ProcessGone(Unavailable):
    """A process that ended before it was called."""


class Script(Protocol):
    """A script that runs there."""

    @property
    def complaint(self) -> bytes:
        """The first bytes of its standard error."""
        ...

    @property
    def code(self) -> int:
        """The exit code, once the output ended; never 0 for one that did not end well."""
        ...

    def output(self) -> AsyncGenerator[bytes, None]:
        """Yield the output; at the end `code` is known. Raises `Unavailable`."""
        ...

    async def send(self, data: bytes) -> None:
        """Send bytes of its input. Raises `ProcessGone` when it does not read any more."""
        ...

    async def close_input(self) -> None:
        """End its input; for a script that has ended already this does nothing."""
        ...


class Processes(Protocol):
    """The processes of one machine. `label` names the machine in messages."""

    @property
    def label(self) -> str:
        """Such as `machine x at E2B`."""
        ...

    def started(self, script: str, words: tuple[str, ...]) -> AbstractAsyncContextManager[Script]:
        """Yield a script for sh that runs; its stream is closed at the end."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptShell:
    """`rented.vendor.RentedShell` over process calls."""

    processes: Processes

    @property
    def label(self) -> str:
        """See `linked.shell.Shell`."""
        return self.processes.label

    async def run(
        self, script: str, *words: str, given: bytes = b"", seconds: float
    ) -> ScriptResult:
        """See `linked.shell.Shell`."""
        output = bytearray()
        try:
            async with (
                asyncio.timeout(seconds),
                self.processes.started(script, words) as ran,
                asyncio.TaskGroup() as group,
                aclosing(ran.output()) as printed,
            ):
                feeding = group.create_task(_send_input(ran, given))
                async for data in printed:
                    if len(output) + len(data) > MAX_OUTPUT_BYTES:
                        raise Failed(f"{self.label} prints without an end")
                    output += data
                feeding.cancel()
        except TimeoutError as error:
            raise Unavailable(f"{self.label} did not answer within {seconds:g} s") from error
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from group_error
        return ScriptResult(ran.code, bytes(output), _complaint_text(ran))

    @asynccontextmanager
    async def pipe(self, script: str, *words: str) -> AsyncIterator[ScriptInput]:
        """See `linked.shell.Shell`."""
        async with self.processes.started(script, words) as ran:
            into = _ScriptInput(ran)
            yield into
            await into.drain()
            async for _ in self._output_after_input(ran):
                pass

    async def fetch(self, script: str, *words: str) -> AsyncIterator[bytes]:
        """See `rented.vendor.RentedShell`."""
        async with self.processes.started(script, words) as ran:
            async for data in self._output_after_input(ran):
                yield data

    async def stream(self, script: str, *words: str, near: socket.socket) -> str:
        """See `linked.shell.Shell`."""
        try:
            async with self.processes.started(script, words) as ran:
                await self._join(ran, near)
        except BaseExceptionGroup as group_error:
            error = group_error.exceptions[0]
            if isinstance(error, ConnectionError):
                return ""
            raise error from group_error
        except ConnectionError:
            return ""
        return _complaint_text(ran)

    async def _join(self, ran: Script, near: socket.socket) -> None:
        """Pass bytes both ways until either end is over. Nothing is read before the script runs:
        its caller sees by that whether the machine was reached."""
        reader, writer = await asyncio.open_connection(sock=near.dup())
        try:
            async with asyncio.TaskGroup() as group, aclosing(ran.output()) as printed:
                sending = group.create_task(self._pass_input(ran, reader))
                async for data in printed:
                    writer.write(data)
                    await writer.drain()
                sending.cancel()
        finally:
            writer.close()

    async def close(self) -> None:
        """See `linked.shell.Shell`; connections are the library's."""

    async def _output_after_input(self, ran: Script) -> AsyncIterator[bytes]:
        """End a script's input, and yield its output. Raises `Failed` when it ends badly."""
        await ran.close_input()
        async with aclosing(ran.output()) as printed:
            async for data in printed:
                yield data
        if ran.code:
            raise Failed(
                f"{self.label}: {_complaint_text(ran) or f'a command ended with {ran.code}'}"
            )

    async def _pass_input(self, ran: Script, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(STREAM_BYTES):
                await ran.send(data)
        with suppress(TimeoutError):
            # The end of its output ends this, too, unless nothing comes from there any more.
            async with asyncio.timeout(END_SECONDS):
                await ran.close_input()
                await asyncio.Event().wait()
        raise Unavailable(f"{self.label} does not end a stream")


class _ScriptInput:
    """The input of a script: written bytes wait here until `drain` sends them."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._waiting = bytearray()

    def write(self, data: bytes, /) -> None:
        """See `linked.shell.ScriptInput`."""
        self._waiting += data

    async def drain(self) -> None:
        """See `linked.shell.ScriptInput`."""
        data = bytes(self._waiting)
        self._waiting.clear()
        await self._script.send(data)


def more_complaint(complaint: bytes, added: bytes) -> bytes:
    """Return a complaint with more of it appended, as far as there is room."""
    return complaint + added[: 4 * MAX_COMPLAINT - len(complaint)]


async def _send_input(ran: Script, given: bytes) -> None:
    """Send all of a script's input; one that does not read it is no error."""
    with suppress(ProcessGone):
        await ran.send(given)
    await ran.close_input()


def _complaint_text(ran: Script) -> str:
    return ran.complaint.decode(errors="replace").strip()[:MAX_COMPLAINT]
