"""A terminal's WebSocket whose client has gone before it was answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.types import Message
from starlette.websockets import WebSocket

from atoll.ports.runtime import Channel
from atoll.surfaces.http.terminals.relay import relay


async def test_client_that_goes_before_it_is_accepted_is_no_failure() -> None:
    ended = asyncio.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[Channel]:
        try:
            yield None  # type: ignore[misc]
        finally:
            ended.set()

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        raise ConnectionResetError(message["type"])

    await relay(WebSocket({"type": "websocket"}, receive, send), opened())
    assert ended.is_set()
