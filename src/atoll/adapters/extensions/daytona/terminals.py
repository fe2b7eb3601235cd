"""Terminals on a machine of Daytona: the toolbox's PTY, a WebSocket.

A PTY there has no end of input, one stream for output and errors, and drops a client that reads
slowly. So `link armour` runs in it; the program is sent once, as a file.
"""

import asyncio
import secrets
import shlex
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from daytona import AsyncSandbox, DaytonaError, DaytonaNotFoundError, PtySize
from daytona.handle.async_pty_handle import AsyncPtyHandle

from atoll.adapters.extensions.daytona.errors import translate_error
from atoll.adapters.rented.calls import Patience, call_with_retries, translate_errors
from atoll.adapters.rented.program import ArmourProgram
from atoll.domain.errors import AtollError, Failed
from atoll.ports.extension import VendorKey

WAITING = 64
CHUNK_BYTES = 32 * 1024
KILL_SECONDS = 5.0
WIDE = PtySize(rows=24, cols=1000)
"""No shell there breaks the line that starts the program."""

_T = TypeVar("_T")


class DaytonaTerminals:
    """The terminals of one machine, of its ordinary user, with `link armour` in each."""

    def __init__(
        self, machine: AsyncSandbox, key: VendorKey, patience: Patience, program: ArmourProgram
    ) -> None:
        self._machine = machine
        self._key = key
        self._patience = patience
        self._program = program
        self._place = ""
        self._turn = asyncio.Lock()

    @property
    def label(self) -> str:
        """The machine in messages."""
        return f"machine {self._machine.id} at Daytona"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["DaytonaTerminal"]:
        """Yield a terminal, which is ended after."""
        place = await self._program_place()
        name = f"atoll-{secrets.token_hex(8)}"
        output: asyncio.Queue[bytes] = asyncio.Queue(WAITING)

        def create() -> Awaitable[AsyncPtyHandle]:
            created = self._machine.process.create_pty_session(name, output.put, pty_size=WIDE)
            return self.translate_errors(created)

        handle = await call_with_retries(
            f"a terminal on {self.label}", create, patience=self._patience
        )
        # Owned here: cancelled below.
        watching = asyncio.get_running_loop().create_task(_watch_end(handle, output))
        terminal = DaytonaTerminal(self, handle, output)
        try:
            await terminal.send(self._start_line(place))
            yield terminal
        except AtollError:
            # Looked at again: a file that came in part starts nothing.
            self._place = ""
            raise
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await self._end(name, handle)

    async def translate_errors(self, call: Awaitable[_T]) -> _T:
        """Return the result of a call of the library, its errors translated into ours."""
        return await translate_errors(
            call, partial(translate_error, what=self.label, key=self._key)
        )

    async def _end(self, name: str, handle: AsyncPtyHandle) -> None:
        """End a terminal. One that is not reached ends itself, since nobody speaks to it."""
        await handle.disconnect()
        if handle.exit_code is None:
            with suppress(DaytonaError, TimeoutError):
                async with asyncio.timeout(KILL_SECONDS):
                    await self._machine.process.kill_pty_session(name)

    def _start_line(self, place: str) -> bytes:
        """Return the line by which a shell there starts the program."""
        command = shlex.join(self._program.argv(place))
        return f" chmod 700 {shlex.quote(place)} && exec {command}\n".encode()

    async def _program_place(self) -> str:
        async with self._turn:
            if not self._place:
                what = f"a file for {self.label}"
                self._place = await call_with_retries(
                    what,
                    lambda: self.translate_errors(self._send_program()),
                    patience=self._patience,
                )
            return self._place

    async def _send_program(self) -> str:
        """Send the program, unless all of it is there: one that runs cannot be written."""
        content = self._program.content
        home = await self._machine.get_user_home_dir()
        if not home.startswith("/") or not home.isprintable():
            raise Failed(f"{self.label} names no home of its user")
        place = f"{home.rstrip('/')}/.atoll-{self._program.digest}"
        with suppress(DaytonaNotFoundError):
            there = await self._machine.fs.get_file_info(place)
            if there.size == len(content):
                return place
        await self._machine.fs.upload_file(content, place)
        return place


@dataclass(frozen=True, slots=True)
class DaytonaTerminal:
    """`rented.armoured.Terminal` over the library's handle."""

    terminals: DaytonaTerminals
    handle: AsyncPtyHandle
    output: asyncio.Queue[bytes]

    async def send(self, data: bytes, /) -> None:
        """See the protocol. The other side takes no message of more than 64 KiB."""
        for start in range(0, len(data), CHUNK_BYTES):
            call = self.handle.send_input(data[start : start + CHUNK_BYTES])
            await self.terminals.translate_errors(call)

    async def printed(self) -> AsyncIterator[bytes]:
        """See the protocol."""
        while data := await self.output.get():
            yield data


async def _watch_end(handle: AsyncPtyHandle, output: asyncio.Queue[bytes]) -> None:
    """Put an empty chunk into `output` once a terminal ends."""
    await handle.wait()
    await output.put(b"")
