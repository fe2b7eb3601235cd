"""An upstream that says fixed bytes to everything, and what a door answers to raw bytes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.peers.broker import Door, broker_door

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@dataclass
class RawPeer:
    """Answers each head with `answer`, on connections it keeps; remembers all it read."""

    answer: bytes = OK
    port: int = 0
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    answering: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self.answering.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                    writer.write(self.answer)
                    await writer.drain()
        finally:
            self.answering.discard(task)
            writer.close()


@asynccontextmanager
async def raw_peer(answer: bytes = OK) -> AsyncIterator[RawPeer]:
    peer = RawPeer(answer)
    server = await asyncio.start_server(peer, "127.0.0.1", 0)
    peer.port = server.sockets[0].getsockname()[1]
    yield peer
    server.close()
    for task in set(peer.answering):
        task.cancel()
    await asyncio.gather(*peer.answering, return_exceptions=True)


@asynccontextmanager
async def attacked(answer: bytes = OK) -> AsyncIterator[tuple[RawPeer, Door]]:
    """A provider that says `answer` to everything, and the door to it."""
    async with (
        raw_peer(answer) as peer,
        broker_door({"openai": f"http://127.0.0.1:{peer.port}"}) as door,
    ):
        yield peer, door


async def say(door: Door, said: bytes) -> bytes:
    """Everything the door answers before it hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", door.port)
    try:
        writer.write(said)
        async with asyncio.timeout(20):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def closing(request: bytes) -> bytes:
    return request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
