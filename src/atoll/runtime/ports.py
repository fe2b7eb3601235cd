"""Ports of a sandbox's loopback, dialled inside by a process of its own for each connection."""

import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator

from atoll.domain.errors import AtollError, LimitReached
from atoll.ports.spawner import Process, ProcessSpec, Spawner

MAX_CONNECTIONS = 64


class Ports:
    """Connections to ports inside, at most `MAX_CONNECTIONS` at a time. Raises what `Spawner.spawn`
    raises."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner
        self._open = 0

    @contextlib.asynccontextmanager
    async def dial(self, port: int) -> AsyncIterator[tuple[Process, socket.socket]]:
        """Yield a process that connects, and our end of its input and output; both end here."""
        if self._open >= MAX_CONNECTIONS:
            raise LimitReached(f"{MAX_CONNECTIONS} connections to ports are open: close one")
        self._open += 1
        ours, theirs = socket.socketpair()
        try:
            process = await self._spawn_dialer(port, theirs)
            try:
                yield process, ours
            finally:
                with contextlib.suppress(AtollError):  # it may have ended by itself
                    await process.signal(signal.SIGKILL, tree=True)
        finally:
            self._open -= 1
            ours.close()

    async def _spawn_dialer(self, port: int, theirs: socket.socket) -> Process:
        """Start the program that connects a socket to a port of the sandbox."""
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            spec = ProcessSpec(
                argv=self._spawner.tool("dial", "--", str(port)),
                env=(("LC_ALL", "C"),),
                cwd="/",
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=null,
            )
            return await self._spawner.spawn(spec)
        finally:
            os.close(null)
            theirs.close()
