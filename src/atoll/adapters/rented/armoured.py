"""Processes on a machine whose vendor gives only a terminal: each in armour on one of its own.

`link armour` runs at the other end of the terminal. Lines that were changed or lost end a process;
the link inside continues with the next one.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

from atoll.adapters.rented.shell import ProcessGone, more_complaint
from atoll.domain.errors import AtollError, Unavailable
from atoll.wire.link.armour import SILENT_SECONDS, ArmouredEnd, ArmourKind, exit_code, start
from atoll.wire.link.stream import Broken

HELLO_SECONDS = 30.0


class Terminal(Protocol):
    """A terminal there, in which armour runs. Raises `Unavailable`, and `Gone`."""

    async def send(self, data: bytes, /) -> None:
        """Type bytes."""
        ...

    def printed(self) -> AsyncIterator[bytes]:
        """Yield the terminal's output, until it ends."""
        ...


@dataclass(frozen=True, slots=True)
class ArmouredProcesses:
    """`rented.shell.Processes` over terminals. `open_terminal` gives a new one for each process."""

    label: str
    open_terminal: Callable[[], AbstractAsyncContextManager[Terminal]]

    @asynccontextmanager
    async def started(self, script: str, words: tuple[str, ...]) -> AsyncIterator["ArmouredScript"]:
        """See the protocol."""
        async with self.open_terminal() as terminal:
            ran = ArmouredScript(terminal, self.label)
            loop = asyncio.get_running_loop()
            # Owned here: cancelled below.
            tasks = [loop.create_task(ran.read()), loop.create_task(ran.keep_alive())]
            try:
                await ran.begin(("/bin/sh", "-c", script, "sh", *words))
                yield ran
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


class ArmouredScript:
    """`rented.shell.Script` in armour."""

    def __init__(self, terminal: Terminal, label: str) -> None:
        self.complaint = b""
        self.code = 1
        self._terminal = terminal
        self._label = label
        self._end = ArmouredEnd(is_far=False)
        self._lost: AtollError | None = None
        self._is_there = self._is_over = False
        self._changed = asyncio.Event()
        # Bounded by the window: credit is given as bytes are taken.
        self._output: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._turn = asyncio.Lock()

    async def begin(self, argv: tuple[str, ...]) -> None:
        """Send the command once armour is there. Raises `Unavailable`."""
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                await self._wait_until(lambda: self._is_there)
        except TimeoutError as error:
            raise Unavailable(f"{self._label} began no command in {HELLO_SECONDS:g} s") from error
        if self._lost is not None:
            raise self._lost
        async with self._turn:
            await self._terminal.send(start(self._end, argv))

    async def output(self) -> AsyncGenerator[bytes, None]:
        """See the protocol."""
        while (data := await self._output.get()) is not None:
            yield data
            await self._give_credit(len(data))
        if self._lost is not None:
            raise self._lost

    async def send(self, data: bytes) -> None:
        """See the protocol."""
        while data:
            await self._wait_until(lambda: self._end.room > 0)
            if self._is_over:
                raise self._lost or ProcessGone(f"a command on {self._label} has ended")
            async with self._turn:
                count = min(len(data), self._end.room)
                await self._terminal.send(self._end.data(ArmourKind.INPUT, data[:count]))
            data = data[count:]

    async def close_input(self) -> None:
        """See the protocol."""
        async with self._turn:
            if not self._is_over:
                await self._terminal.send(self._end.frame(ArmourKind.END))

    async def read(self) -> None:
        """Read the frames of the other side until the end."""
        try:
            async for data in self._terminal.printed():
                for kind, payload in self._end.feed(data):
                    await self._take_frame(kind, payload)
                self._changed.set()
                if self._is_over:
                    return
            self._lost = Unavailable(f"{self._label} cut a command's output")
        except Broken as error:
            self._lost = Unavailable(f"{self._label} sent what is no output: {error}")
        except AtollError as error:
            self._lost = error
        finally:
            self._is_over = True
            self._changed.set()
            self._output.put_nowait(None)

    async def keep_alive(self) -> None:
        """Send a sign of life from time to time."""
        while True:
            await asyncio.sleep(SILENT_SECONDS / 4)
            async with self._turn:
                if self._is_there and not self._is_over:
                    await self._terminal.send(self._end.alive())

    async def _take_frame(self, kind: ArmourKind, payload: bytes) -> None:
        if kind is ArmourKind.OUTPUT:
            self._output.put_nowait(payload)
        elif kind is ArmourKind.COMPLAINT:
            self.complaint = more_complaint(self.complaint, payload)
            await self._give_credit(len(payload))
        elif kind is ArmourKind.HELLO:
            self._is_there = True
        else:
            self.code = exit_code(payload)
            self._is_over = True

    async def _give_credit(self, count: int) -> None:
        async with self._turn:
            line = b"" if self._is_over else self._end.took(count)
            if line:
                # A command that has ended takes no credit, while its end is still to be read.
                with suppress(AtollError):
                    await self._terminal.send(line)

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition() and not self._is_over:
            self._changed.clear()
            await self._changed.wait()
