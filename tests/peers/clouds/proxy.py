"""What stands between a client and a vendor: it resets connections, or lets them fall silent."""

import asyncio
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

READ_BYTES = 64 * 1024
AT_ONCE = struct.pack("ii", 1, 0)
"""A close by a reset, socket(7)."""


class Proxy:
    """Passes bytes to a port of this machine, on a thread of its own."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._age = 0
        self._ends: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._listens = threading.Event()
        self.url = ""

    def reset(self) -> None:
        """Reset every connection there is, whether or not bytes pass on it."""
        self._loop.call_soon_threadsafe(self._reset)

    def silence(self) -> None:
        """Carry no byte more on the connections there are. Nobody is told; new ones work."""
        self._age += 1

    def _reset(self) -> None:
        for end in list(self._ends):
            line: socket.socket = end.get_extra_info("socket")
            with suppress(OSError):
                line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            end.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, thither = await asyncio.open_connection("127.0.0.1", self._port)
        ends = {writer, thither}
        self._ends |= ends
        age = self._age
        try:
            await asyncio.gather(self._pass(reader, thither, age), self._pass(there, writer, age))
        finally:
            for end in ends:
                end.transport.abort()
            self._ends -= ends

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, age: int
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(READ_BYTES):
                if age == self._age:
                    writer.write(data)
                    await writer.drain()
            if age == self._age:
                writer.write_eof()

    async def _listen(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self._listens.set()
        await self._over.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def run(self) -> None:
        """Serve until `end`."""
        self._loop.run_until_complete(self._listen())
        self._loop.close()

    def wait(self) -> None:
        """Wait until it listens."""
        self._listens.wait()

    def end(self) -> None:
        """End every connection."""
        self._loop.call_soon_threadsafe(self._over.set)


@contextmanager
def proxied(url: str) -> Iterator[Proxy]:
    """Yield a proxy in front of a server of this machine."""
    proxy = Proxy(int(url.rpartition(":")[2]))
    thread = threading.Thread(target=proxy.run)
    thread.start()
    proxy.wait()
    try:
        yield proxy
    finally:
        proxy.end()
        thread.join()
