"""An endpoint of webhooks on loopback, which verifies signatures and can be told how to behave.

It verifies by the text of the Standard Webhooks specification, with no line of the sender.
"""

import asyncio
import base64
import hashlib
import hmac
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

HANG = 0
"""The status that stands for no answer at all."""

ENDLESS = -1
"""The status that stands for 200 and a body without end."""

DRIP = -2
"""The status that stands for 200 and a body that comes a byte at a time."""


@dataclass
class WebhookReceiver:
    """What came, in order. Each next request is answered with one of `statuses` while there are
    any; `failing` names streams whose requests are answered with 500."""

    url: str = ""
    secret: str = ""
    statuses: deque[int] = field(default_factory=deque)
    headers: dict[str, str] = field(default_factory=dict)
    failing: set[str] = field(default_factory=set)
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    accepted: list[dict[str, Any]] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    bytes_written: int = 0
    _came: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def take(self, request: web.Request) -> web.StreamResponse:
        """Take one message."""
        body = await request.read()
        self.requests.append((dict(request.headers), body))
        status = self.statuses.popleft() if self.statuses else 200
        message = json.loads(body) if body[:1] == b"{" else {}
        if message.get("data", {}).get("stream") in self.failing:
            status = 500
        if status == HANG:
            await self._note()
            await self.released.wait()
            return web.Response()
        if status in (200, 204, ENDLESS, DRIP):
            if self.secret:
                verify(self.secret, dict(request.headers), body)
            self.accepted.append(message)
        await self._note()
        if status in (ENDLESS, DRIP):
            return await self._without_end(request, 65536 if status == ENDLESS else 1)
        return web.Response(status=status, headers=self.headers)

    async def _without_end(self, request: web.Request, size: int) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        while not self.released.is_set():
            await answer.write(b"x" * size)
            self.bytes_written += size
            await asyncio.sleep(0 if size > 1 else 0.01)
        return answer

    async def _note(self) -> None:
        async with self._came:
            self._came.notify_all()

    async def came(self, requests: int) -> None:
        """Return once so many requests came."""
        async with asyncio.timeout(60), self._came:
            await self._came.wait_for(lambda: len(self.requests) >= requests)

    async def took(self, messages: int) -> None:
        """Return once so many messages were accepted."""
        async with asyncio.timeout(60), self._came:
            await self._came.wait_for(lambda: len(self.accepted) >= messages)

    async def took_kind(self, kind: str) -> None:
        """Return once an event of this kind was accepted."""
        async with asyncio.timeout(60), self._came:
            await self._came.wait_for(lambda: kind in {one["type"] for one in self.accepted})

    def seqs(self, stream: str) -> list[int]:
        """The numbers of the events of a stream, in the order they were accepted."""
        events = [one["data"] for one in self.accepted]
        return [one["seq"] for one in events if one["stream"] == stream]


def verify(secret: str, headers: dict[str, str], body: bytes) -> None:
    """Raise `AssertionError` unless one of the signatures is made with this secret."""
    told = {name.lower(): value for name, value in headers.items()}
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{told['webhook-id']}.{told['webhook-timestamp']}.".encode() + body
    wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [one.partition(",") for one in told["webhook-signature"].split(" ")]
    assert any(version == "v1" and made == wanted for version, _, made in given)


@asynccontextmanager
async def webhook_receiver(port: int = 0) -> AsyncIterator[WebhookReceiver]:
    """A receiver at `http://127.0.0.1:PORT/hook`."""
    receiver = WebhookReceiver()
    app = web.Application(client_max_size=1024 * 1024)
    app.router.add_post("/{name}", receiver.take)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
        yield receiver
    finally:
        receiver.released.set()
        await runner.cleanup()
