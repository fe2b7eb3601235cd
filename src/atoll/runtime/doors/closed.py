"""Doors that are owned and let nothing through: their ports answer, and say why not.

A port nobody listened on could be taken from inside; one that hangs would look like a
broken network. So each caller gets a short HTTP answer and the connection is closed.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import cast

from atoll.runtime.doors.turnstile import Turnstile

READ_SECONDS = 5.0
MAX_REQUEST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Closed:
    """Why a door is closed. `status` is the HTTP status and its phrase."""

    status: str
    code: str
    detail: str

    def answer(self) -> bytes:
        """The whole HTTP answer."""
        number = int(self.status.split(" ", 1)[0])
        title = self.status.split(" ", 1)[1]
        problem = {
            "type": "about:blank",
            "title": title,
            "status": number,
            "code": self.code,
            "detail": self.detail,
        }
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


NO_BROKER = Closed(
    "503 Service Unavailable",
    "unavailable",
    "no keys were given to this sandbox's broker; add them to keys.toml and start it again",
)


@asynccontextmanager
async def closed(doors: tuple[socket.socket, ...], why: Closed) -> AsyncIterator[None]:
    """Answer every connection on these listening sockets with `why`, until the end of the
    block. Takes the sockets over and closes them."""
    loop = asyncio.get_running_loop()
    guarded = Turnstile().guarding(lambda: _Refusal(why))
    servers = [await loop.create_server(guarded, sock=door) for door in doors]
    try:
        yield
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()


class _Refusal(asyncio.Protocol):
    """Waits for the end of a request's head, so that the caller is ready to read."""

    def __init__(self, why: Closed) -> None:
        self._why = why
        self._seen = b""
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the caller a moment to say what it wants."""
        self._transport = cast(asyncio.Transport, transport)
        self._timer = asyncio.get_running_loop().call_later(READ_SECONDS, self._answer)

    def data_received(self, data: bytes) -> None:
        """Answer once the head is complete, or longer than any honest one."""
        self._seen = (self._seen + data)[-MAX_REQUEST_BYTES:]
        if b"\r\n\r\n" in self._seen or len(self._seen) >= MAX_REQUEST_BYTES:
            self._answer()

    def connection_lost(self, error: Exception | None) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._transport = None

    def _answer(self) -> None:
        if self._transport is not None:
            self._transport.write(self._why.answer())
            self._transport.close()
            self._transport = None
