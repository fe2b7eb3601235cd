"""A client at a runtime's terminal whose own connection was handed over, for tests."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.adapters.runtimes.unix_handover import UnixHandoverLink, unix_handover_link
from tests.runtime.stage import Runtime

WHO = (("principal", "ann"), ("name", "Ann"), ("role", "owner"), ("client", "a"))


class Wire:
    """The client's end of a connection that is a WebSocket already."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self.rest = b""
        self.output = b""

    async def frame(self) -> tuple[int, bytes]:
        """Opcode and payload of the next frame; opcode -1 at the end."""
        while len(self.rest) < sum(self._size()):
            more = await asyncio.get_running_loop().sock_recv(self.end, 1 << 20)
            if not more:
                return -1, b""
            self.rest += more
        begin, size = self._size()
        kind, payload = self.rest[0] & 15, self.rest[begin : begin + size]
        self.rest = self.rest[begin + size :]
        return kind, payload

    def _size(self) -> tuple[int, int]:
        size = self.rest[1] & 127 if len(self.rest) > 3 else 2
        width = {126: 2, 127: 8}.get(size, 0)
        return 2 + width, int.from_bytes(self.rest[2 : 2 + width], "big") if width else size

    async def sees(self, words: bytes) -> None:
        while words not in self.output:
            kind, payload = await self.frame()
            assert kind >= 0, self.output[-200:]
            self.output += payload if kind == 2 else b""

    async def closed(self) -> int:
        """The code of the close frame that comes."""
        while True:
            kind, payload = await self.frame()
            assert kind >= 0, "it hung up without a word"
            if kind == 8:
                return int.from_bytes(payload[:2], "big")

    async def send(self, first: int, payload: bytes, *, masked: bool = True) -> None:
        mask = b"\0\0\0\0" if masked else b""
        size = bytes((len(payload) | (0x80 if masked else 0),))
        await asyncio.get_running_loop().sock_sendall(
            self.end, bytes((first,)) + size + mask + payload
        )


@asynccontextmanager
async def handed_over(
    rt: Runtime, terminal: str, query: tuple[tuple[str, str], ...] = WHO
) -> AsyncIterator[tuple[Wire, UnixHandoverLink]]:
    """A client at the terminal, and its link."""
    target = f"/sessions/{terminal}/seat"
    async with unix_handover_link(str(rt.socket_path), target, query, None) as link:
        assert link is not None
        assert await link.is_admitted()
        theirs, ours = socket.socketpair()
        ours.setblocking(False)
        link.pass_socket(theirs.fileno())
        theirs.close()
        try:
            async with asyncio.timeout(30):
                yield Wire(ours), link
        finally:
            ours.close()
            link.disconnect()
