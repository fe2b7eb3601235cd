"""The requests that a server serves now, and their end with it, in order.

Streams of events have no end of their own: they end at once, whole, so that clients come back. A
stream that answers a POST has an end, as a call of an MCP tool, and is an answer like others.
Other requests have a moment to finish; one that has not answered by then is refused with 503, and
an answer that is on its way is cut off. WebSockets are closed by the server itself, with 1012.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atoll.domain.errors import Unavailable
from atoll.surfaces.http.server.problems import refuse

FINISH_SECONDS: Final = 1.5
"""The time that requests have to finish once the server ends. uvicorn's own limit is longer."""

_EVENT_STREAM: Final = b"text/event-stream"


class _OpenRequest:
    """A request, and how far its answer came."""

    def __init__(self, task: "asyncio.Task[object]", scope: Scope, send: Send) -> None:
        self._task = task
        self._send = send
        self._reads = scope.get("method") == "GET"
        self.socket = scope["type"] == "websocket"
        self.started = self.complete = self.streams = self.ended = False

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            kinds = [value for name, value in message.get("headers", ())
                     if name.lower() == b"content-type"]  # fmt: skip
            self.started = True
            self.streams = self._reads and bool(kinds) and kinds[0].startswith(_EVENT_STREAM)
        elif message["type"] == "http.response.body":
            self.complete = not message.get("more_body", False)
        await self._send(message)

    def end(self) -> None:
        """Cancel it, once."""
        if not self.ended:
            self.ended = True
            self._task.cancel()

    def clear(self) -> None:
        """Take the cancellation back that `end` caused: what is left to do is ours."""
        while self._task.cancelling():
            self._task.uncancel()


class OpenRequests:
    """The ASGI application around all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open: set[_OpenRequest] = set()
        self._ending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. One that `end` ended does not fail."""
        task = asyncio.current_task()
        if task is None or scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        request = _OpenRequest(task, scope, send)
        self._open.add(request)
        try:
            await self._app(scope, receive, self._watch(request, scope))
        except (asyncio.CancelledError, Exception):
            if not request.ended:
                raise
        finally:
            self._open.discard(request)
        if request.ended:
            request.clear()
            await _finish(request, scope, receive, send)

    def end(self) -> None:
        """End streams now, and what else is open in a moment; called again, all but
        WebSockets at once: the server is about to close those."""
        if self._ending:
            self._end_each(lambda one: not one.socket)
            return
        self._ending = True
        self._end_each(lambda one: one.streams)
        asyncio.get_running_loop().call_later(FINISH_SECONDS, self._end_each, lambda _: True)

    def _end_each(self, chosen: Callable[[_OpenRequest], bool]) -> None:
        for request in [one for one in self._open if chosen(one)]:
            request.end()

    def _watch(self, request: _OpenRequest, scope: Scope) -> Send:
        if scope["type"] == "websocket":
            return request.send

        async def send(message: Message) -> None:
            await request.send(message)
            if self._ending and request.streams:
                request.end()

        return send


async def _finish(request: _OpenRequest, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer what was not answered, and end a stream as a whole one."""
    if scope["type"] != "http" or request.complete:
        return
    if not request.started:
        stopping = Unavailable("Atoll is stopping or restarting: try again.", code="stopping")
        await refuse(stopping, scope, receive, send)
    elif request.streams:
        await send({"type": "http.response.body", "body": b"", "more_body": False})
