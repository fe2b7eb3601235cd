"""A sandbox's port on this machine's loopback: each connection goes by a WebSocket of its own.

Browsers send cookies to every port of a host. What listens behind a forwarded port is an agent's
program, so the port stands at another host than any page of a server on this machine.
"""

import asyncio
import contextlib
import errno
from collections.abc import Callable
from dataclasses import dataclass

from atoll.client.server import Server
from atoll.client.transport import api_path
from atoll.domain.errors import Conflict
from atoll.surfaces.cli.attach.connection import ConnectionEnd, TerminalConnection, open_socket

HOST = "127.0.0.2"
"""Pages are at 127.0.0.1, `localhost` or [::1]: none of them shares cookies with this address."""

_SPARE = "127.0.0.3"
CHUNK_BYTES = 64 * 1024
END = "end"
NOBODY = 4502


@dataclass(frozen=True, slots=True)
class Forward:
    """Forwarded `port` of a sandbox. `notify` receives sentences for the person."""

    locate: Callable[[], Server]
    sandbox_id: str
    port: int
    notify: Callable[[str], None]

    async def run(self, local: int, listening: Callable[[str, int], None]) -> None:
        """Listen at `local` of the loopback (0: any) until cancelled; `listening` gets host and
        port. Raises `Conflict` when that port is taken, or this machine has no second loopback
        address."""
        host = host_beside(self.locate().host)
        try:
            server = await asyncio.start_server(self._serve, host, local)
        except OSError as err:
            raise Conflict(_refusal(host, local, err)) from err
        async with server:
            listening(host, server.sockets[0].getsockname()[1])
            await server.serve_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = api_path("sandboxes", self.sandbox_id, "ports", str(self.port))
        try:
            async with open_socket(self.locate, path) as line:
                if isinstance(line, ConnectionEnd):
                    self.notify(f"port {self.port} cannot be reached (status {line.status})")
                else:
                    await self._pass(line, reader, writer)
        except OSError:
            pass  # the client left
        finally:
            writer.close()

    async def _pass(
        self, line: TerminalConnection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            up = tasks.create_task(_copy_to_sandbox(line, reader))
            ended = await _copy_to_client(line, writer)
            up.cancel()
        if ended.code == NOBODY:
            self.notify(f"nothing listens at port {self.port} of the sandbox")


def host_beside(page: str) -> str:
    """Return a loopback address that is another host than the server's page."""
    return _SPARE if page == HOST else HOST


def _refusal(host: str, port: int, err: OSError) -> str:
    message = f"{host}:{port} cannot be opened for listening: {err.strerror}"
    if err.errno != errno.EADDRNOTAVAIL:
        return message
    # macOS configures 127.0.0.1 alone. Listening there would hand out the page's session.
    return f"{message}. Add the address first: sudo ifconfig lo0 alias {host}"


async def _copy_to_sandbox(line: TerminalConnection, reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK_BYTES):
            if not await line.send(data):
                return
    await line.send(END)


async def _copy_to_client(line: TerminalConnection, writer: asyncio.StreamWriter) -> ConnectionEnd:
    """Copy the sandbox's frames to the client; return how the connection ended."""
    while not isinstance(frame := await line.receive(), ConnectionEnd):
        if isinstance(frame, bytes):
            writer.write(frame)
            with contextlib.suppress(OSError):
                await writer.drain()
    return frame
