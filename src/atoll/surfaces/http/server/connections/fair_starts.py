"""The order in which requests and WebSockets start: a few at a time, and those of all clients in
turn. A burst of one client then keeps no other waiting."""

import asyncio
from collections import deque
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from atoll.domain.people.rate_limit import client_block

AT_ONCE: Final = 8
PAUSE_SECONDS: Final = 0.004
"""So many start at once, and then as many after each pause."""

LATE_SECONDS: Final = 0.005
"""A pause that lasts so much longer than asked says that the loop has enough to do: then one
starts. Otherwise hundreds wait for one read of the database, and go on with it all at once."""

_Start = asyncio.Future[None]


class FairStarts:
    """The ASGI application around another, which starts its requests in turn."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._waiting: dict[str, deque[_Start]] = {}
        self._left = AT_ONCE
        self._due: float | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request once it is its client's turn."""
        if scope["type"] in {"http", "websocket"}:
            self._come_back()
            if self._left and not self._waiting:
                self._left -= 1
            else:
                await self._turn(scope)
        await self._app(scope, receive, send)

    async def _turn(self, scope: Scope) -> None:
        client = client_block(scope["client"][0]) if scope.get("client") else ""
        start: _Start = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(start)
        await start

    def _come_back(self) -> None:
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.time() + PAUSE_SECONDS
            loop.call_at(self._due, self._run, self._due)

    def _run(self, due: float) -> None:
        late = asyncio.get_running_loop().time() - due > LATE_SECONDS
        self._due, self._left = None, 1 if late else AT_ONCE
        most = self._left
        while self._waiting and self._left:
            client, starts = next(iter(self._waiting.items()))
            del self._waiting[client]
            start = starts.popleft()
            if starts:
                self._waiting[client] = starts  # behind all others
            if not start.done():
                self._left -= 1
                start.set_result(None)
        if self._left < most:
            self._come_back()
