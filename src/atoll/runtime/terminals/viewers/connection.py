"""A WebSocket over HTTP whose end is bounded in time: a peer that reads nothing cannot hold us."""

import asyncio

from aiohttp import WSMessage, web

from atoll.runtime.terminals.viewers.link import CLOSE_SECONDS, MAX_FRAME_BYTES


class Connection:
    """WebSocket over HTTP here. Every send raises `ConnectionError` once the peer is gone."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self._socket = web.WebSocketResponse(
            compress=False,
            autoping=False,
            max_msg_size=MAX_FRAME_BYTES,
            timeout=CLOSE_SECONDS,
        )

    @property
    def response(self) -> web.WebSocketResponse:
        """Response the handler returns to the server."""
        return self._socket

    @property
    def possible(self) -> bool:
        """True when the request is an upgrade to WebSocket."""
        return self._socket.can_prepare(self._request).ok

    @property
    def closed(self) -> bool:
        """True when either side has closed it."""
        return self._socket.closed

    async def accept(self) -> None:
        """Answer the upgrade."""
        await self._socket.prepare(self._request)

    async def send_text(self, text: str) -> None:
        """Send a text frame."""
        await self._socket.send_str(text)

    async def send(self, data: bytes) -> None:
        """Send a binary frame; waits while the peer takes nothing."""
        await self._socket.send_bytes(data)

    async def ping(self) -> None:
        """Ask for a pong."""
        await self._socket.ping()

    async def pong(self, data: bytes) -> None:
        """Answer a ping."""
        await self._socket.pong(data)

    async def receive(self) -> WSMessage | None:
        """Return the next frame; None once the connection is over."""
        try:
            return await self._socket.__anext__()
        except StopAsyncIteration:
            return None

    async def close(self, code: int, reason: str) -> None:
        """Close politely; break the connection when that takes too long."""
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._socket.close(code=code, message=reason.encode())
        except (TimeoutError, ConnectionError):
            self.abort()

    def abort(self) -> None:
        """Break the connection."""
        if self._request.transport is not None:
            self._request.transport.abort()
