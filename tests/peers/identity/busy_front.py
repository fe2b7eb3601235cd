"""What stands in front of a login provider: while it is busy every answer is 503, and each refresh
token that it hands out is good once. One that comes again ends its login.
"""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

import httpx
from aiohttp import web

_HOP = frozenset({"transfer-encoding", "content-length", "connection", "content-encoding"})


@dataclass
class BusyFront:
    """The front of the provider at `target`; `url` is the issuer. `tokens` leads from each of its
    refresh tokens to the provider's; `refreshed` counts those that were traded, `reused` those that
    came twice, `put_off` the requests that were answered 503."""

    target: str
    url: str = ""
    busy: bool = False
    retry_after: str = ""
    refreshed: int = 0
    reused: int = 0
    put_off: int = 0
    tokens: dict[str, str] = field(default_factory=dict)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer in the provider's place."""
        if self.busy:
            self.put_off += 1
            told = {"Retry-After": self.retry_after} if self.retry_after else {}
            return web.Response(status=503, headers=told, text="Not now.")
        body, kept = await request.read(), ""
        if request.path.endswith("/token"):
            form = dict(parse_qsl(body.decode()))
            if form.get("grant_type") == "refresh_token":
                kept = self.tokens.pop(form["refresh_token"], "")
                if not kept:
                    self.reused += 1
                    return web.json_response({"error": "invalid_grant"}, status=400)
                self.refreshed += 1
                form["refresh_token"] = kept
                body = urlencode(form).encode()
        return await self._carried(request, body, kept)

    async def _carried(self, request: web.Request, body: bytes, kept: str) -> web.Response:
        """Carry a request to the provider. `kept` is its refresh token, which it may not renew."""
        headers = {k: v for k, v in request.headers.items() if k.lower() not in _HOP}
        async with httpx.AsyncClient(base_url=self.target, timeout=60) as http:
            answer = await http.request(
                request.method, request.path_qs, headers=headers, content=body
            )
        if not request.path.endswith("/token") or answer.status_code != 200:
            told = {k: v for k, v in answer.headers.items() if k.lower() not in _HOP}
            return web.Response(status=answer.status_code, headers=told, body=answer.content)
        document = answer.json()
        own = f"once-{secrets.token_hex(16)}"
        self.tokens[own] = document.get("refresh_token", kept)
        return web.json_response({**document, "refresh_token": own})


@asynccontextmanager
async def busy_front(target: str) -> AsyncIterator[BusyFront]:
    """Serve the front of a provider."""
    front = BusyFront(target)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", front.answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        front.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield front
    finally:
        await runner.cleanup()
