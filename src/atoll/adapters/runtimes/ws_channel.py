"""A WebSocket to a runtime as a `ports.runtime.Channel`.

Pings are answered here; the frames themselves pass unchanged.
"""

from collections.abc import AsyncIterator

import aiohttp

from atoll.domain.errors import Unavailable

_MAX_REASON_BYTES = 120


class WsChannel:
    """A connected client WebSocket. Reading waits for the reader, sending for the peer."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._close_code: int | None = None

    async def __aiter__(self) -> AsyncIterator[bytes | str]:
        """Yield frames until the peer closes or is gone."""
        while True:
            try:
                message = await self._socket.receive()
            except (aiohttp.ClientError, OSError):
                return
            kind = message.type
            if kind is aiohttp.WSMsgType.BINARY or kind is aiohttp.WSMsgType.TEXT:
                yield message.data
            elif kind is aiohttp.WSMsgType.CLOSE:
                # Only a close frame is a close: aiohttp reports a vanished peer as 1000 too.
                self._close_code = message.data
                return
            else:
                return

    async def send(self, frame: bytes | str) -> None:
        """Send one frame; waits while the transport is full. Raises `Unavailable` when closed."""
        try:
            if isinstance(frame, str):
                await self._socket.send_str(frame)
            else:
                await self._socket.send_bytes(frame)
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable("the terminal's connection is closed; attach again") from error

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close from this side; closing twice is not an error."""
        cut = reason.encode()[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
        await self._socket.close(code=code, message=cut.encode())

    @property
    def close_code(self) -> int | None:
        """The peer's close code, None while open and when it vanished without one."""
        return self._close_code
