"""Processes on a machine of Modal, as bytes: an exec has an input and outputs with offsets, which
its library takes up again where a connection was cut.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

from modal import Sandbox
from modal.container_process import ContainerProcess

from atoll.adapters.extensions.modal.errors import translate_error
from atoll.adapters.rented.calls import Patience, call_with_retries, translate_errors
from atoll.adapters.rented.shell import ProcessGone, more_complaint
from atoll.adapters.rented.vendor import LIFE_SECONDS, Gone
from atoll.domain.errors import AtollError, Unavailable
from atoll.ports.extension import VendorKey

CHUNK_BYTES = 256 * 1024
EXEC_SECONDS = LIFE_SECONDS * 2 // 3
"""The longest life of one process. Without us nothing ends it earlier, and a machine is not idle
before: so this and the idle time of a machine are together the deadline ahead."""

_HOME = "HOME=${HOME:-/root}; export HOME\n"
_T = TypeVar("_T")


class ModalProcesses:
    """`rented.shell.Processes` of one machine, as the user of its image."""

    def __init__(self, machine: Sandbox, key: VendorKey, patience: Patience) -> None:
        self._machine = machine
        self._key = key
        self.patience = patience

    @property
    def label(self) -> str:
        """See the protocol."""
        return f"machine {self._machine.object_id} at Modal"

    @asynccontextmanager
    async def started(self, script: str, words: tuple[str, ...]) -> AsyncIterator["ModalScript"]:
        """See the protocol."""
        argv = ("/bin/sh", "-c", _HOME + script, "sh", *words)

        async def act() -> ContainerProcess[bytes]:
            called = self._machine.exec.aio(*argv, text=False, timeout=EXEC_SECONDS)
            return await self.translate_errors(called)

        process = await call_with_retries(f"a command on {self.label}", act, patience=self.patience)
        ran = ModalScript(self, process)
        # Owned here: cancelled below.
        listening = asyncio.get_running_loop().create_task(ran.read_complaint())
        try:
            yield ran
        finally:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)

    async def translate_errors(self, call: Awaitable[_T], missing: type[AtollError] = Gone) -> _T:
        """Return the result of a call of the library, its errors translated into ours."""
        translate = partial(translate_error, what=self.label, key=self._key, missing=missing)
        return await translate_errors(call, translate)


class ModalScript:
    """`rented.shell.Script` of Modal."""

    def __init__(self, machine: ModalProcesses, process: ContainerProcess[bytes]) -> None:
        self.complaint = b""
        self.code = 1
        self._machine = machine
        self._process = process
        self._complaint_ended = asyncio.Event()

    async def read_complaint(self) -> None:
        """Read its standard error to the end, and keep the first bytes."""
        try:
            async for data in self._process.stderr:
                self.complaint = more_complaint(self.complaint, data)
        finally:
            self._complaint_ended.set()

    async def output(self) -> AsyncGenerator[bytes, None]:
        """See the protocol."""
        chunks = aiter(self._process.stdout)
        while True:
            try:
                data = await self._machine.translate_errors(anext(chunks))
            except StopAsyncIteration:
                break
            yield data
        seconds = self._machine.patience.call
        try:
            async with asyncio.timeout(seconds):
                await self._complaint_ended.wait()
                self.code = await self._machine.translate_errors(self._process.wait.aio())
        except TimeoutError as error:
            raise Unavailable(f"{self._machine.label} ended no command in {seconds:g} s") from error

    async def send(self, data: bytes) -> None:
        """See the protocol. The library sends again from where the machine has it."""
        for start in range(0, len(data), CHUNK_BYTES):
            self._process.stdin.write(data[start : start + CHUNK_BYTES])
            await self._drain()

    async def close_input(self) -> None:
        """See the protocol."""
        self._process.stdin.write_eof()
        with suppress(ProcessGone):
            await self._drain()

    async def _drain(self) -> None:
        await self._machine.translate_errors(self._process.stdin.drain.aio(), ProcessGone)
