"""Unix sockets of a sandbox's files and ports of its loopback, connected inside by a process of its
own for each connection, which is yielded once it is connected.

A socket is opened beneath the workspace or the home like any file, and never by an abstract name.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from atoll.domain.errors import LimitReached, Unavailable
from atoll.domain.files.workspace_path import named_place
from atoll.ports.spawner import Spawner
from atoll.runtime.files.entry import to_json_text
from atoll.runtime.files.tool import Tool, start
from atoll.wire.words.walls import WORKSPACE

MAX_CONNECTIONS = 64
CONNECT_SECONDS = 10.0


class Sockets:
    """Connections to sockets and ports inside, at most `MAX_CONNECTIONS` at a time; `home` is that
    of the sandbox's user."""

    def __init__(self, spawner: Spawner, home: str) -> None:
        self._spawner = spawner
        self._home = home
        self._open = 0

    @contextlib.asynccontextmanager
    async def connect(self, path: str) -> AsyncIterator[Tool]:
        """Yield a process whose input and output are the connection, until the context is left.
        Raises what opening a file raises, `Conflict` when nothing listens there."""
        root, relative = named_place(path, self._home)
        roots = () if root == WORKSPACE else ("--root", root)
        async with self._start(
            *roots, "socket", "--", relative, what=f"connect to {to_json_text(path)!r}"
        ) as tool:
            yield tool

    @contextlib.asynccontextmanager
    async def connect_port(self, port: int) -> AsyncIterator[Tool]:
        """Yield a process as `connect` does, of a port. Raises `Conflict` when nothing listens
        there."""
        async with self._start("port", "--", str(port), what=f"connect to port {port}") as tool:
            yield tool

    @contextlib.asynccontextmanager
    async def _start(self, *args: str, what: str) -> AsyncIterator[Tool]:
        if self._open >= MAX_CONNECTIONS:
            raise LimitReached(f"{MAX_CONNECTIONS} connections inside are open: close one")
        self._open += 1
        try:
            async with start(self._spawner, *args, what=what) as tool:
                await _wait_until_connected(tool, what)
                yield tool
        finally:
            self._open -= 1


async def _wait_until_connected(tool: Tool, what: str) -> None:
    """Wait for the byte by which the tool says so. Raises the error that it ended with."""
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            if not await tool.read(1):
                await tool.finish()
                raise Unavailable(f"cannot {what}: the tool inside ended; try again")
    except TimeoutError as error:
        raise Unavailable(f"cannot {what} within {CONNECT_SECONDS:g} s; try again") from error
