"""Terminals on a machine of Daytona: the toolbox's PTY, a WebSocket.

A PTY there has no end of input, one stream for output and errors, and drops a client that reads
slowly. So `link armour` runs in it; the program is sent once, as a file.
"""

import asyncio
import hashlib
import secrets
import shlex
import tarfile
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from daytona import AsyncSandbox, DaytonaError, DaytonaNotFoundError, PtySize
from daytona.handle.async_pty_handle import AsyncPtyHandle

from atoll.adapters.extensions.daytona.errors import understood
from atoll.adapters.rented.calls import Patience, patiently
from atoll.domain.errors import AtollError, Failed
from atoll.ports.extension import VendorKey

WAITING = 64
CHUNK_BYTES = 32 * 1024
KILL_SECONDS = 5.0
STATIC, TWIN = "link", "link.py"
WIDE = PtySize(rows=24, cols=1000)
"""No shell there breaks the line that starts the program."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Program:
    """The far end of armour: its content, and the words that run it from a path."""

    content: bytes
    words: tuple[str, ...]

    def place(self, home: str) -> str:
        """Return the place of it on a machine, by its content. Raises `Failed` for a home that is
        none."""
        if not home.startswith("/") or not home.isprintable():
            raise Failed("a machine names no home of its user")
        return f"{home.rstrip('/')}/.atoll-{hashlib.sha256(self.content).hexdigest()[:24]}"

    def line(self, place: str) -> str:
        """Return the line that a shell there is given."""
        path = shlex.quote(place)
        words = " ".join((*self.words, path, "armour"))
        return f" chmod 700 {path} && exec {words}\n"


def read_program(archive: Path) -> Program:
    """Return the program in the archive for other machines: the static one, or the twin. Raises
    `Failed` when there is none."""
    try:
        with tarfile.open(archive) as packed:
            name = TWIN if TWIN in packed.getnames() else STATIC
            file = packed.extractfile(name)
            content = b"" if file is None else file.read()
    except (OSError, KeyError, tarfile.TarError) as error:
        raise Failed(f"there is no link to send to a machine: {error}") from error
    return Program(content, ("python3", "-I", "-S") if name == TWIN else ())


class DaytonaTerminals:
    """The terminals of one machine, of its ordinary user, with `link armour` in each."""

    def __init__(
        self, machine: AsyncSandbox, key: VendorKey, patience: Patience, program: Program
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
    async def opened(self) -> AsyncIterator["DaytonaTerminal"]:
        """Yield a terminal; nothing of it is left after."""
        place = await self._placed()
        name = f"atoll-{secrets.token_hex(8)}"
        arrived: asyncio.Queue[bytes] = asyncio.Queue(WAITING)

        def made() -> Awaitable[AsyncPtyHandle]:
            created = self._machine.process.create_pty_session(name, arrived.put, pty_size=WIDE)
            return self.understood(created)

        handle = await patiently(f"a terminal on {self.label}", made, patience=self._patience)
        # Owned here: cancelled below.
        watching = asyncio.get_running_loop().create_task(_watched(handle, arrived))
        terminal = DaytonaTerminal(self, handle, arrived)
        try:
            await terminal.send(self._program.line(place).encode())
            yield terminal
        except AtollError:
            # Looked at again: a file that came in part starts nothing.
            self._place = ""
            raise
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await self._ended(name, handle)

    async def understood(self, call: Awaitable[_T]) -> _T:
        """Return what a call of the library returns, its errors translated."""
        try:
            return await call
        except Exception as error:
            raise understood(error, self.label, self._key) from error

    async def _ended(self, name: str, handle: AsyncPtyHandle) -> None:
        """End a terminal. One that is not reached ends itself, since nobody speaks to it."""
        await handle.disconnect()
        if handle.exit_code is None:
            with suppress(DaytonaError, TimeoutError):
                async with asyncio.timeout(KILL_SECONDS):
                    await self._machine.process.kill_pty_session(name)

    async def _placed(self) -> str:
        async with self._turn:
            if not self._place:
                what = f"a file for {self.label}"
                self._place = await patiently(
                    what, lambda: self.understood(self._sent()), patience=self._patience
                )
            return self._place

    async def _sent(self) -> str:
        """Send the program, unless all of it is there: one that runs cannot be written."""
        content = self._program.content
        place = self._program.place(await self._machine.get_user_home_dir())
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
    arrived: asyncio.Queue[bytes]

    async def send(self, data: bytes, /) -> None:
        """See the protocol. The other side takes no message of more than 64 KiB."""
        for start in range(0, len(data), CHUNK_BYTES):
            sent = self.handle.send_input(data[start : start + CHUNK_BYTES])
            await self.terminals.understood(sent)

    async def printed(self) -> AsyncIterator[bytes]:
        """See the protocol."""
        while data := await self.arrived.get():
            yield data


async def _watched(handle: AsyncPtyHandle, arrived: asyncio.Queue[bytes]) -> None:
    """Say when a terminal ends."""
    await handle.wait()
    await arrived.put(b"")
