"""A socket of ours that leads to the Engine of a host, by SSH and the link's program there. Its
connections share few of SSH's: a handshake costs more than most calls.

Sockets are forwarded by a command, since the key of Atoll on a host is restricted to commands.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from atoll.adapters.extensions.ssh.client import SshClient
from atoll.adapters.linked.machine import COMMAND_SECONDS
from atoll.domain.errors import AtollError

ENGINE = "/var/run/docker.sock"
BACKLOG = 16
FIRST_CONNECTION = 1
"""Number 0 is for commands."""

CONNECTION_STREAMS = 8
"""A server takes 10 sessions over one connection, unless it says otherwise: MaxSessions,
sshd_config(5)."""

_TO_ENGINE = r"""
exec "$2/link" attach --socket "$1"
"""
"""Words: the Engine's socket, the programs."""


@dataclass(frozen=True, slots=True)
class Forward:
    """The way to an Engine. `programs` is the directory of ours on the host."""

    shell: SshClient
    programs: str
    engine: str = ENGINE

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Path]:
        """Yield the path of a socket, mode 0600, for as long as it is used."""
        with TemporaryDirectory(prefix="atfw") as folder, _listen(folder) as listener:
            # Owned here: cancelled below, with every connection.
            owner = asyncio.get_running_loop().create_task(self._serve(listener))
            try:
                yield Path(folder) / "d.sock"
            finally:
                owner.cancel()
                await asyncio.gather(owner, return_exceptions=True)

    async def _serve(self, listener: socket.socket) -> None:
        """Carry every connection until this task is cancelled, and them with it."""
        loop = asyncio.get_running_loop()
        connections = _SharedConnections(self.shell)
        async with asyncio.TaskGroup() as group:
            while True:
                near, _ = await loop.sock_accept(listener)
                group.create_task(self._carry(near, connections))

    async def _carry(self, near: socket.socket, connections: "_SharedConnections") -> None:
        near.setblocking(True)  # a program's standard input and output
        with near, suppress(AtollError, OSError):
            async with connections.take() as number:
                await self.shell.stream(
                    _TO_ENGINE, self.engine, self.programs, near=near, shared=number
                )


class _SharedConnections:
    """The shared connections of a forward, and how many streams each carries."""

    def __init__(self, shell: SshClient) -> None:
        self._shell = shell
        self._streams: dict[int, int] = {}
        self._open: set[int] = set()
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def take(self) -> AsyncIterator[int]:
        """Yield the number of a connection with room, open. Raises `Unavailable`, `Failed`."""
        number = next(
            each for each in count(FIRST_CONNECTION) if self._carries(each) < CONNECTION_STREAMS
        )
        self._streams[number] = self._carries(number) + 1
        try:
            async with self._turn:
                # First alone: clients that come at once would each make a connection.
                if number not in self._open:
                    await self._shell.run(":", seconds=COMMAND_SECONDS, shared=number)
                    self._open.add(number)
            yield number
        finally:
            self._streams[number] -= 1

    def _carries(self, number: int) -> int:
        return self._streams.get(number, 0)


def _listen(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    path = f"{folder}/d.sock"
    listener.bind(path)
    os.chmod(path, 0o600)  # noqa: PTH101  a socket; its folder is 0700
    listener.listen(BACKLOG)
    return listener
