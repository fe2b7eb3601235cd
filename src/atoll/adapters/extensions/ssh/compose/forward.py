"""A socket of ours that leads to the Engine of a host, by SSH and the link's program there.

Sockets are forwarded by a command, since the key of Atoll on a host is restricted to commands.
"""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from atoll.adapters.linked.shell import Shell
from atoll.domain.errors import AtollError

ENGINE = "/var/run/docker.sock"
BACKLOG = 16

_TO_ENGINE = r"""
exec "$2/link" attach --socket "$1"
"""
"""Words: the Engine's socket, the programs."""


@dataclass(frozen=True, slots=True)
class Forward:
    """The way to an Engine. `programs` is the directory of ours on the host."""

    shell: Shell
    programs: str
    engine: str = ENGINE

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Path]:
        """Yield the path of a socket, mode 0600, for as long as it is used."""
        with TemporaryDirectory(prefix="atfw") as folder, _listening(folder) as listener:
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
        async with asyncio.TaskGroup() as group:
            while True:
                near, _ = await loop.sock_accept(listener)
                group.create_task(self._carry(near))

    async def _carry(self, near: socket.socket) -> None:
        near.setblocking(True)  # a program's standard input and output
        with near, suppress(AtollError, OSError):
            await self.shell.stream(_TO_ENGINE, self.engine, self.programs, near=near)


def _listening(folder: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    path = f"{folder}/d.sock"
    listener.bind(path)
    os.chmod(path, 0o600)  # noqa: PTH101  a socket; its folder is 0700
    listener.listen(BACKLOG)
    return listener
