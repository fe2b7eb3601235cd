"""Running real programs through a Spawner and reading what they say, for contract suites."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from atoll.ports.spawner import Exit, Process, ProcessSpec, Pty, PtyReader, Spawner

Environment = tuple[tuple[str, str], ...]
PATH: Environment = (("PATH", "/usr/local/bin:/usr/bin:/bin"),)
TERMINAL: Environment = (*PATH, ("TERM", "xterm"), ("PS1", "$ "))
PATIENCE_SECONDS = 60.0


class Output:
    """Reader of a descriptor in a thread, until a mark or its end. It does not own the
    descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.seen = b""

    async def until(self, mark: bytes) -> bytes:
        """Return everything seen, once `mark` is in it."""
        return await self._read(lambda: mark in self.seen)

    async def lines(self, count: int) -> list[bytes]:
        """Return the first `count` whole lines."""
        await self._read(lambda: self.seen.count(b"\n") >= count)
        return self.seen.splitlines()[:count]

    async def to_end(self) -> bytes:
        """Return everything, once nobody holds the other end."""
        return await self._read(lambda: False)

    async def _read(self, enough: Callable[[], bool]) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not enough():
                try:
                    data = await asyncio.to_thread(os.read, self._fd, 65536)
                except OSError:
                    break  # EIO: the end of a terminal
                if not data:
                    break
                self.seen += data
        return self.seen


class Screen:
    """Reader of a terminal, which it owns, until a mark or its end: a hang-up after `ended`."""

    def __init__(self, pty: Pty) -> None:
        self.seen = b""
        self._hung_up = False
        self._news = asyncio.Event()
        self._master = pty.open(
            PtyReader(self._receive, self._news.set, self._hangup, lambda: False)
        )
        self._master.resume()

    async def until(self, mark: bytes) -> bytes:
        """Return everything seen, once `mark` is in it."""
        return await self._read(lambda: mark in self.seen)

    async def lines(self, count: int) -> list[bytes]:
        """Return the first `count` whole lines."""
        await self._read(lambda: self.seen.count(b"\n") >= count)
        return self.seen.splitlines()[:count]

    async def to_end(self) -> bytes:
        """Return everything, once nobody holds the other end."""
        return await self._read(lambda: False)

    @property
    def echo_off(self) -> bool:
        """True when the terminal reads lines without echo."""
        return self._master.echo_off

    async def quiet(self, seconds: float) -> bool:
        """Return whether nothing comes for so long."""
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return True
        return False

    def type(self, keys: bytes) -> None:
        """Type at it."""
        assert self._master.write(keys)

    def close(self) -> None:
        """Close the terminal."""
        self._master.close()

    def _receive(self, data: bytes) -> None:
        self.seen += data
        self._hung_up = False

    def _hangup(self) -> None:
        self._hung_up = True
        self._news.set()

    async def _read(self, enough: Callable[[], bool]) -> bytes:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not enough() and not self._hung_up:
                self._news.clear()
                await self._news.wait()
        return self.seen


@asynccontextmanager
async def start_piped(
    spawner: Spawner, *argv: str, env: Environment = PATH, cwd: str = "/"
) -> AsyncIterator[tuple[Process, Output]]:
    """Start argv with stdout and stderr in one pipe and nothing to read."""
    out, into = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    try:
        try:
            process = await spawner.spawn(ProcessSpec(argv, env, cwd, null, into, into))
        finally:
            os.close(into)
            os.close(null)
        yield process, Output(out)
    finally:
        os.close(out)


@asynccontextmanager
async def terminal(
    spawner: Spawner, *argv: str, cols: int = 80, rows: int = 24, lead: bool = False
) -> AsyncIterator[tuple[Process, Screen]]:
    """Start argv on a terminal of its own, below a leader if requested; the output is the
    terminal's."""
    pty = await spawner.open_pty(cols=cols, rows=rows)
    try:
        try:
            ends = (pty.slave, pty.slave, pty.slave)
            spec = ProcessSpec(argv, TERMINAL, "/", *ends, tty=True, lead=lead)
            process = await spawner.spawn(spec)
        finally:
            pty.close_slave()
        screen = Screen(pty)
        try:
            yield process, screen
        finally:
            screen.close()
    finally:
        pty.close()


async def run(
    spawner: Spawner, *argv: str, env: Environment = PATH, cwd: str = "/"
) -> tuple[Exit, bytes]:
    """Run argv to its end: how it ended, and stdout and stderr together."""
    async with start_piped(spawner, *argv, env=env, cwd=cwd) as (process, output):
        text = await output.to_end()
        return await process.wait(), text
