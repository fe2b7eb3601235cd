"""Running one of init's tree tools inside: its output as it comes, its failure as an error."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator

from atoll.domain.errors import AtollError, Failed, Invalid, LimitReached, Unavailable
from atoll.ports.spawner import Process, ProcessSpec, Spawner
from atoll.runtime.files.pipe import CHUNK_BYTES, HalfPipe
from atoll.runtime.spawners.refusal import refusal

DEADLINE_SECONDS = 120.0
MAX_OUTPUT_BYTES = 16 * 1024 * 1024
MAX_COMPLAINT_BYTES = 4096
KILL = 9
_COMPLAINT = re.compile(rb"(\d+) (.*)")


class Tool:
    """A tool at work. `stdout` is read, `stdin` written, until `finish`."""

    def __init__(
        self, what: str, process: Process, pipes: tuple[HalfPipe, HalfPipe, HalfPipe]
    ) -> None:
        self._what = what
        self._process = process
        self._stdin, self._stdout, self._stderr = pipes

    async def read(self, size: int = CHUNK_BYTES) -> bytes:
        """Return more of its output, at most `size` bytes; empty at the end."""
        return await self._stdout.read(size)

    async def write(self, data: bytes) -> None:
        """Write to the tool's standard input. Raises BrokenPipeError when it ended: `finish` says
        why."""
        await self._stdin.write(data)

    def end_input(self) -> None:
        """End the tool's standard input. Idempotent."""
        self._stdin.close()

    async def finish(self) -> None:
        """Close the input and wait for the tool's end. Raises the error of its exit code and
        complaint."""
        self._stdin.close()
        end = await self._process.wait()
        complaint = self._stderr.read_now(MAX_COMPLAINT_BYTES)
        if end.signal is not None:
            raise Unavailable(f"cannot {self._what}: it was killed inside the sandbox; try again")
        if end.code:
            raise _error(self._what, end.code, complaint)


@contextlib.asynccontextmanager
async def start(spawner: Spawner, *args: str, what: str) -> AsyncIterator[Tool]:
    """Start `init ARGS…`; whatever is left of it is killed on the way out.

    `what` says in a message what was tried. Raises as `Spawner.spawn` does.
    """
    pipes = (HalfPipe(reads=False), HalfPipe(reads=True), HalfPipe(reads=True))
    process: Process | None = None
    try:
        process = await spawner.spawn(
            ProcessSpec(
                argv=spawner.tool(*args),
                env=(("LC_ALL", "C"),),
                cwd="/",
                stdin=pipes[0].theirs,
                stdout=pipes[1].theirs,
                stderr=pipes[2].theirs,
            )
        )
        for pipe in pipes:
            pipe.given()
        yield Tool(what, process, pipes)
    finally:
        for pipe in pipes:
            pipe.close()
        if process is not None:
            await _end(process)


async def run(spawner: Spawner, *args: str, what: str) -> bytes:
    """Run a tool to its end: all its output (at most 16 MiB, within 120 s)."""
    output = bytearray()
    try:
        async with asyncio.timeout(DEADLINE_SECONDS), start(spawner, *args, what=what) as tool:
            while data := await tool.read():
                output += data
                if len(output) > MAX_OUTPUT_BYTES:
                    raise Failed(f"cannot {what}: it said more than {MAX_OUTPUT_BYTES} bytes")
            await tool.finish()
    except TimeoutError as error:
        raise Unavailable(f"cannot {what} within {DEADLINE_SECONDS:g} s; try a part") from error
    return bytes(output)


async def _end(process: Process) -> None:
    """Kill a tool that is not done yet."""
    try:
        async with asyncio.timeout(0):
            await process.wait()
    except TimeoutError:
        with contextlib.suppress(Unavailable):
            await process.signal(KILL, tree=True)


def _error(what: str, code: int, complaint: bytes) -> AtollError:
    match = _COMPLAINT.match(complaint)
    number, text = (int(match[1]), match[2].decode(errors="replace")) if match else (0, "")
    match code:
        case 65 if number and number < 4096:
            return refusal(number, what=what, field="path")
        case 66:
            return LimitReached(f"cannot {what}: {text}", code="too_large")
        case 67:
            return Invalid(f"cannot {what}: {text}", code="unsafe_archive")
        case _:
            return Failed(f"cannot {what}: the tool inside ended with {code} {os.fsencode(text)!r}")
