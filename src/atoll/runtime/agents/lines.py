"""A program inside whose standard output is read line by line, for as long as somebody listens.

Its lines are an agent's words: bounded, and a longer one is passed over. `look_inside` reads files
by a small program whose JSON lines a conversation takes.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import msgspec

from atoll.domain.agents.lenient_json import Message
from atoll.domain.errors import Unavailable
from atoll.ports.spawner import Process, ProcessSpec, Spawner
from atoll.wire.http.unreadable import UNREADABLE

READ_BYTES = 64 * 1024
MAX_LINE_BYTES = 4 * 1024 * 1024
MAX_WAITING_BYTES = 1024 * 1024
SIGKILL = 9
LOOK_SECONDS = 20.0
MAX_BYTES = 16 * 1024 * 1024
"""The bytes read of one program's output; the rest is left out."""


@dataclass(frozen=True, slots=True)
class Program:
    """Program to run inside: `env` is the whole environment."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str


class Lines:
    """A running program. `read_lines` yields its lines."""

    def __init__(self, process: Process, out: asyncio.StreamReader, into: int | None) -> None:
        self.process = process
        self._out = out
        self._into = into
        self._waiting = bytearray()
        self._loop = asyncio.get_running_loop()

    async def read_lines(self) -> AsyncIterator[bytes]:
        """Yield each whole line without its end, until nobody can write one any more."""
        rest = b""
        passing = False
        while data := await self._out.read(READ_BYTES):
            *whole, rest = (rest + data).split(b"\n")
            for line in whole:
                if not passing:
                    yield line
                passing = False
            if len(rest) > MAX_LINE_BYTES:
                rest, passing = b"", True

    def write(self, data: bytes) -> bool:
        """Write to its standard input, all of it or nothing: False when too much waits already
        for a program that reads none."""
        if self._into is None or len(self._waiting) + len(data) > MAX_WAITING_BYTES:
            return False
        idle = not self._waiting
        self._waiting += data
        if idle:
            self._loop.add_writer(self._into, self._write)
        return True

    def close_input(self) -> None:
        """Close the program's standard input."""
        if self._into is not None:
            self._loop.remove_writer(self._into)
            os.close(self._into)
            self._into = None

    def _write(self) -> None:
        if self._into is None:
            return
        try:
            del self._waiting[: os.write(self._into, self._waiting)]
        except BlockingIOError:
            return
        except OSError:
            self._waiting.clear()  # it reads no more
        if not self._waiting:
            self._loop.remove_writer(self._into)


@asynccontextmanager
async def run_program(
    spawner: Spawner, program: Program, *, with_input: bool = False
) -> AsyncIterator[Lines]:
    """Run the program for the length of the block, then end its whole process tree. With
    `with_input` its standard input is a pipe, otherwise empty. Raises what `Spawner.spawn` does."""
    out, theirs_out = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    their_in, into = os.pipe() if with_input else (os.dup(null), None)
    try:
        spec = ProcessSpec(program.argv, program.env, program.cwd, their_in, theirs_out, null)
        process = await spawner.spawn(spec)
    except BaseException:
        os.close(out)
        if into is not None:
            os.close(into)
        raise
    finally:
        for fd in (theirs_out, their_in, null):
            os.close(fd)
    if into is not None:
        # A program that reads nothing must not hold the sandbox's loop.
        os.set_blocking(into, False)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(out, "rb", 0)
    )
    running = Lines(process, reader, into)
    try:
        yield running
    finally:
        transport.close()
        running.close_input()
        await process.signal(SIGKILL, tree=True)


async def look_inside(spawner: Spawner, agent: Program, argv: tuple[str, ...]) -> Sequence[Message]:
    """Run a program as the agent runs, and return the JSON objects among its lines. Raises
    `Unavailable`, and what the spawner raises."""
    try:
        async with (
            asyncio.timeout(LOOK_SECONDS),
            run_program(spawner, replace(agent, argv=argv)) as program,
        ):
            return [message async for message in _objects(program.read_lines())]
    except TimeoutError as error:
        raise Unavailable(
            "the agent's files could not be read in time: try again", code="worker_unavailable"
        ) from error


async def _objects(read: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    left = MAX_BYTES
    async for line in read:
        left -= len(line)
        if left < 0:
            return
        try:
            message = msgspec.json.decode(line)
        except UNREADABLE:
            continue
        if isinstance(message, dict):
            yield message
