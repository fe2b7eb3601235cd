"""Upgrades of HTTP/1.1 to any protocol, which uvicorn knows for WebSockets alone.

A route finds the connection as the ASGI extension `atoll.upgrade`. It answers as any route does; an
answer 101 makes it the owner of the bytes that follow, through `streams`. Every other answer ends
the connection.
"""

import asyncio
import socket
import urllib.parse
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

import httptools
import structlog
from starlette.types import ASGIApp, Message, Scope

UPGRADE: Final = "atoll.upgrade"
BUFFER_BYTES: Final = 64 * 1024
KEEPALIVE_SECONDS: Final = 60
_SWITCHING: Final = 101
_log = structlog.get_logger(__name__)

Takes = Callable[[Mapping[str, Any]], bool]
"""Reports whether upgrades of a request are for a route: decided by the host that it names."""


class UpgradableConnection:
    """A connection whose client asked for another protocol. `run` serves it to its end."""

    def __init__(self, transport: asyncio.Transport, connections: set[Any]) -> None:
        self._transport = transport
        self._connections = connections
        loop = asyncio.get_running_loop()
        self._reader = asyncio.StreamReader(BUFFER_BYTES, loop)
        protocol = asyncio.StreamReaderProtocol(self._reader, loop=loop)
        protocol.connection_made(transport)
        transport.set_protocol(protocol)
        # What the client sends before it is answered waits in the reader, which is bounded.
        transport.resume_reading()
        self._writer = asyncio.StreamWriter(transport, protocol, self._reader, loop)
        self._switched = False
        _keep_alive(transport)

    def streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return both directions, once the answer 101 was sent."""
        return self._reader, self._writer

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        """Have `app` answer, and close the connection once it returns."""
        self._connections.add(self)
        try:
            await app(scope, self._receive, self._send)
        except OSError:
            pass  # the client is gone
        except Exception as error:  # noqa: BLE001 - the root of a task: nothing may leak out
            _log.exception("upgrade_failed", reason=str(error))
        finally:
            self._writer.close()
            self._connections.discard(self)

    def shutdown(self) -> None:
        """Close the connection: the server ends."""
        self._writer.close()

    async def _receive(self) -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._writer.write(self._head(message))
        elif message["type"] == "http.response.body" and not self._switched:
            # Without a length: the end of the connection is the end of the body.
            self._writer.write(message.get("body", b""))
        await self._writer.drain()

    def _head(self, message: Message) -> bytes:
        status = int(message["status"])
        self._switched = status == _SWITCHING
        named = [(name, value) for name, value in message.get("headers", ())]
        if not self._switched:
            named = [(name, value) for name, value in named if name != b"content-length"]
            named.append((b"connection", b"close"))
        lines = [f"HTTP/1.1 {status} {_phrase(status)}\r\n".encode()]
        lines += [name + b": " + value + b"\r\n" for name, value in named]
        return b"".join((*lines, b"\r\n"))


def upgrade_scope(scope: Mapping[str, Any], url: bytes, connection: UpgradableConnection) -> Scope:
    """Return the scope of a request whose connection may be taken over; `url` is its target."""
    parsed = httptools.parse_url(url)
    raw = parsed.path or b"/"
    return {
        **scope,
        "path": urllib.parse.unquote(raw.decode("ascii")),
        "raw_path": raw,
        "query_string": parsed.query or b"",
        "extensions": {UPGRADE: connection},
    }


def _keep_alive(transport: asyncio.Transport) -> None:
    """Have the kernel notice a client that vanished: nobody else asks whether it is there."""
    own: socket.socket | None = transport.get_extra_info("socket")
    if own is not None and own.family in (socket.AF_INET, socket.AF_INET6):
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEPALIVE_SECONDS)


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
