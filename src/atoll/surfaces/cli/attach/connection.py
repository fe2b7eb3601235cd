"""WebSocket to one terminal, from handshake to close. `session` reconnects."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlencode

import aiohttp

from atoll.client.server import Server
from atoll.client.transport import api_path

SILENCE_SECONDS = 18.0
"""The server sends a heartbeat every 5 s or oftener; after this silence the line is dead."""
CONNECT_SECONDS = 10.0
MAX_FRAME_BYTES = 4 * 1024 * 1024
SEND_BYTES = 32 * 1024


@dataclass(frozen=True, slots=True)
class TerminalTarget:
    """Terminal to attach to; `name` is what the person calls the sandbox. `guest`: they came by a
    share link. `path` is that of its WebSocket where a runtime is reached itself."""

    sandbox_id: str
    terminal_id: str
    name: str
    guest: bool = False
    path: str = ""


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """The connection is over. `code` is the close code, with the server's `reason`, or 0 with
    `status` when the handshake was refused, or 0 and 0 when the line broke."""

    code: int = 0
    status: int = 0
    reason: str = ""


Frame: TypeAlias = bytes | str | ConnectionEnd


class _RedirectError(aiohttp.ClientError):
    """A handshake answered with another address."""

    def __init__(self, status: int) -> None:
        super().__init__(f"redirected with {status}")
        self.status = status


class TerminalConnection:
    """An open WebSocket."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def receive(self) -> Frame:
        """Return the next frame, or the end of the connection."""
        try:
            message = await self._socket.receive(timeout=SILENCE_SECONDS)
        except (TimeoutError, aiohttp.ClientError, OSError):
            return ConnectionEnd()
        match message.type:
            case aiohttp.WSMsgType.BINARY:
                return bytes(message.data)
            case aiohttp.WSMsgType.TEXT:
                return str(message.data)
            case aiohttp.WSMsgType.CLOSE:
                return ConnectionEnd(int(message.data or 0), reason=str(message.extra or ""))
            case _:
                return ConnectionEnd(self._socket.close_code or 0)

    async def send(self, frame: bytes | str) -> bool:
        """Send bytes; waits while the line is full. False when the line is broken, and nothing was
        sent."""
        try:
            if isinstance(frame, str):
                await self._socket.send_str(frame)
            else:
                for start in range(0, len(frame), SEND_BYTES):
                    await self._socket.send_bytes(frame[start : start + SEND_BYTES])
        except (aiohttp.ClientError, OSError, RuntimeError):
            return False
        return True


@asynccontextmanager
async def connect(
    locate: Callable[[], Server], target: TerminalTarget, query: tuple[tuple[str, str], ...]
) -> AsyncIterator[TerminalConnection | ConnectionEnd]:
    """Open a connection, or say why not. Raises what `find_server` raises."""
    path = target.path
    if not path:
        path = api_path("sandboxes", target.sandbox_id, "terminals", target.terminal_id, "attach")
    async with open_socket(locate, f"{path}?{urlencode(query)}") as connection:
        yield connection


@asynccontextmanager
async def open_socket(
    locate: Callable[[], Server], path: str
) -> AsyncIterator[TerminalConnection | ConnectionEnd]:
    """Open any of the API's WebSockets the same way."""
    server = locate()
    scheme, _, rest = server.url.partition("://")
    url = f"{'wss' if scheme == 'https' else 'ws'}://{rest}{path}"
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    trace = aiohttp.TraceConfig()
    trace.on_request_redirect.append(_refuse_redirect)
    async with aiohttp.ClientSession(
        timeout=timeout, trust_env=False, trace_configs=[trace]
    ) as session:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                socket = await session.ws_connect(
                    url,
                    headers={**server.credentials(), "User-Agent": "atoll-cli"},
                    max_msg_size=MAX_FRAME_BYTES,
                    compress=0,
                    autoclose=True,
                )
        except (aiohttp.WSServerHandshakeError, _RedirectError) as refusal:
            yield ConnectionEnd(status=refusal.status)
            return
        except (aiohttp.ClientError, OSError, TimeoutError):
            yield ConnectionEnd()
            return
        async with socket:
            yield TerminalConnection(socket)


async def _refuse_redirect(
    session: aiohttp.ClientSession, context: object, redirect: aiohttp.TraceRequestRedirectParams
) -> None:
    """Stop before the credentials and what is typed go to another address."""
    raise _RedirectError(redirect.response.status)
