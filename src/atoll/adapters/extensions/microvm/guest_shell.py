"""Scripts that root of a guest runs, over a port of their own which no sandbox sees.

One connection is one script: its text, its input in chunks, then its answer (`guest.SERVE`). The
guest is believed in nothing: what it answers is bounded.
"""

import asyncio
import shlex
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.extensions.microvm.guest import SERVING
from atoll.adapters.linked.shell import ScriptInput, ScriptResult
from atoll.domain.errors import Failed, Unavailable

READY_SECONDS = 30.0
ANSWER_SECONDS = 900.0
PAUSE_SECONDS = 0.5
"""After a connection: the guest sees it end before the next one begins."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class GuestShell:
    """`linked.shell.ScriptRunner` of the guest whose port listens at `port`."""

    port: Path
    label: str
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False)

    async def run(
        self, script: str, *words: str, given: bytes = b"", seconds: float
    ) -> ScriptResult:
        """See the port."""
        async with self._connect() as connection:
            await connection.send(script, words)
            connection.write(given)
            return await connection.answer(seconds)

    @asynccontextmanager
    async def pipe(self, script: str, *words: str) -> AsyncIterator[ScriptInput]:
        """See the port."""
        async with self._connect() as connection:
            await connection.send(script, words)
            yield connection
            ran = await connection.answer(ANSWER_SECONDS)
        if ran.code:
            raise Failed(f"{self.label}: {ran.complaint}")

    @asynccontextmanager
    async def _connect(self) -> AsyncIterator["_ScriptConnection"]:
        async with self._turn:
            try:
                reader, writer = await asyncio.open_unix_connection(self.port)
                try:
                    yield _ScriptConnection(reader, writer)
                finally:
                    writer.close()
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                why = str(error) or "it does not answer in time"
                raise Unavailable(f"{self.label} takes no files: {why}") from error
            finally:
                await asyncio.sleep(PAUSE_SECONDS)


@dataclass(frozen=True, slots=True)
class _ScriptConnection:
    """A connection for one script."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, script: str, words: tuple[str, ...]) -> None:
        """Wait until the guest listens, and send a script with its words."""
        async with asyncio.timeout(READY_SECONDS):
            await self.reader.readuntil(SERVING + b"\n")
        text = f"set -- {shlex.join(words)}\n{script}".encode()
        self.writer.write(b"%d\n%b" % (len(text), text))

    def write(self, data: bytes, /) -> None:
        """Queue bytes of the script's input."""
        for start in range(0, len(data), CHUNK_BYTES):
            chunk = data[start : start + CHUNK_BYTES]
            self.writer.write(b"%d\n%b" % (len(chunk), chunk))

    async def drain(self) -> None:
        """Wait until more may be written."""
        await self.writer.drain()

    async def answer(self, seconds: float) -> ScriptResult:
        """End the input, and return the result of the script. Raises `ValueError` for a malformed
        answer."""
        async with asyncio.timeout(seconds):
            self.writer.write(b"0\n")
            await self.writer.drain()
            code, size, complaint_size = map(int, (await self.reader.readline()).split())
            if not (0 <= size <= MAX_ANSWER_BYTES and 0 <= complaint_size <= MAX_ANSWER_BYTES):
                raise ValueError("its answer has no size")
            output = await self.reader.readexactly(size)
            complaint = await self.reader.readexactly(complaint_size)
        return ScriptResult(code, output, complaint.decode(errors="replace").strip()[:500])
