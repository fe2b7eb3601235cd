"""A network that can go away, without a word or by resets: a TCP proxy."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

READ_BYTES = 64 * 1024
AT_ONCE = struct.pack("ii", 1, 0)
"""A close by a reset, socket(7)."""


class SilentNetwork:
    """Passes bytes to one port of this machine until `cut`; what was connected then, or is
    connected until `mend`, never carries a byte again and is not told so."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._alive = asyncio.Event()
        self._alive.set()
        self._age = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cut(self) -> None:
        self._age += 1
        self._alive.clear()

    def mend(self) -> None:
        self._age += 1
        self._alive.set()

    def reset(self) -> None:
        """Reset every connection there is, whether or not bytes pass on it."""
        for writer in self._writers:
            line: socket.socket = writer.get_extra_info("socket")
            with suppress(OSError):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client's."""
        age = self._age
        self._writers.add(writer)
        with suppress(OSError):
            if not self._alive.is_set():
                while await reader.read(READ_BYTES):
                    pass
                return
            far, far_writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._writers.add(far_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, far_writer, age))
                group.create_task(self._pass(far, writer, age))
        writer.close()

    async def close(self) -> None:
        """End every connection."""
        for writer in self._writers:
            writer.close()
        for writer in self._writers:
            with suppress(OSError):
                await writer.wait_closed()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, age: int
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(READ_BYTES):
                if age == self._age:
                    writer.write(data)
                    await writer.drain()
        writer.close()


@asynccontextmanager
async def silent_network(port: int) -> AsyncIterator[SilentNetwork]:
    """A network in front of `port`."""
    network = SilentNetwork(port)
    async with asyncio.TaskGroup() as group:

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            group.create_task(network.serve(reader, writer))

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        network.port = server.sockets[0].getsockname()[1]
        try:
            yield network
        finally:
            server.close()
            await network.close()
