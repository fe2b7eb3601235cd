"""Handover of a client's connection to a runtime, over the runtime's unix socket.

It uses raw sockets, because only they can pass descriptors (SCM_RIGHTS). A failure before the
handover is not reported here: the caller falls back to a plain WebSocket, which reports the reason.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote, urlencode

from atoll.adapters.runtimes.correlation import correlation_headers

HANDOVER_PROTOCOL = "atoll-seat"
ASK_SECONDS = 5.0
MAX_HEAD_BYTES = 16 * 1024
MAX_REASON_BYTES = 120


class UnixHandoverLink:
    """The `ports.runtime.HandoverLink` on a connected unix socket."""

    def __init__(self, own: socket.socket, early: bytes) -> None:
        self._own = own
        self._loop = asyncio.get_running_loop()
        self.kept = False
        self._early = early

    async def is_admitted(self) -> bool:
        """Wait for the runtime's answer; report whether the client has its session."""
        if self._early:
            return self._early == b"\1"
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(ASK_SECONDS):
                return await self._loop.sock_recv(self._own, 1) == b"\1"
        return False

    def pass_socket(self, client: int) -> None:
        """Pass the client's socket. Raises `OSError` when the runtime is gone."""
        socket.send_fds(self._own, [b"\1"], [client])
        self.kept = True

    async def ended(self) -> None:
        """Return once the client has left or was closed."""
        with contextlib.suppress(OSError):
            await self._loop.sock_recv(self._own, 1)

    def close_client(self, code: int, reason: str) -> None:
        """Ask the runtime to close the client."""
        cut = reason.encode()[:MAX_REASON_BYTES].decode("utf-8", "ignore").encode()
        with contextlib.suppress(OSError):
            self._own.send(code.to_bytes(2, "big") + cut)

    def disconnect(self) -> None:
        """Close the link, and with it the client."""
        self._own.close()


@asynccontextmanager
async def unix_handover_link(
    path: str, target: str, query: tuple[tuple[str, str], ...], token: str | None
) -> AsyncIterator[UnixHandoverLink | None]:
    """Request an attach session at `target` from the runtime at `path`; None when it is refused."""
    own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    own.setblocking(False)
    link: UnixHandoverLink | None = None
    try:
        asked = await _exchange(own, path, _head(target, query, token))
        # A runtime that attaches at once says so behind its answer.
        answer, blank, early = asked.partition(b"\r\n\r\n")
        if blank and answer.startswith(b"HTTP/1.1 101 "):
            link = UnixHandoverLink(own, early)
        yield link
    finally:
        if link is None or not link.kept:
            own.close()


def _head(target: str, query: tuple[tuple[str, str], ...], token: str | None) -> bytes:
    lines = [
        f"GET {quote(target)}?{urlencode(query)} HTTP/1.1",
        "Host: runtime",
        "Connection: Upgrade",
        f"Upgrade: {HANDOVER_PROTOCOL}",
        *(f"{name}: {value}" for name, value in correlation_headers()),
    ]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    return "\r\n".join([*lines, "", ""]).encode()


async def _exchange(own: socket.socket, path: str, head: bytes) -> bytes:
    """Send the request and return the head of the response, empty when none comes."""
    loop = asyncio.get_running_loop()
    answer = b""
    try:
        async with asyncio.timeout(ASK_SECONDS):
            await loop.sock_connect(own, path)
            await loop.sock_sendall(own, head)
            while b"\r\n\r\n" not in answer and len(answer) < MAX_HEAD_BYTES:
                more = await loop.sock_recv(own, 4096)
                if not more:
                    return b""
                answer += more
    except (OSError, TimeoutError):
        return b""
    return answer
