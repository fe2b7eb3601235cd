"""The vendors of plans on loopback: ChatGPT's backend as Codex calls it with a login, and
Anthropic's messages as Claude Code does. They take living tokens of an issuer, ChatGPT with the
account's id, and have a model server answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from atoll.testing.model_server import ModelServer
from tests.peers.issuers.login_issuer import ACCOUNT, Issuer

BASE = "/backend-api"


@dataclass
class PlanVendor:
    """What a vendor was asked: each request's method, path and status. `answered` are the tokens
    that worked, `refused` counts those that did not. While `refuse` is positive, each request for a
    response is refused and counts it down. `called` is set by every request. `origin` is where the
    account's workspace is said to be."""

    issuer: Issuer
    model: ModelServer
    url: str = ""
    asked: list[tuple[str, str, int]] = field(default_factory=list)
    answered: set[str] = field(default_factory=set)
    sent: set[str] = field(default_factory=set)
    refused: int = 0
    refuse: int = 0
    called: asyncio.Event = field(default_factory=asyncio.Event)
    origin: str = "https://chatgpt.com"

    def app(self) -> web.Application:
        """Routes of the backend."""
        app = web.Application(client_max_size=64 * 1024 * 1024, middlewares=[self._check])
        app.router.add_post(f"{BASE}/codex/responses", self._responses)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_get(f"{BASE}/codex/models", self._models)
        app.router.add_get(f"{BASE}/wham/accounts/check", self._accounts)
        app.router.add_route("*", "/{path:.*}", self._elsewhere)
        return app

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.sent.add(token)
        self.called.set()
        account = request.headers.get("chatgpt-account-id") == ACCOUNT
        good = self.issuer.works(token) and account is request.path.startswith(BASE)
        if request.method == "POST" and self.refuse:
            self.refuse, good = self.refuse - 1, False
        if not good:
            self.refused += 1
            self.asked.append((request.method, request.path, 401))
            await request.read()
            return web.json_response({"error": {"message": "token_expired"}}, status=401)
        self.answered.add(token)
        answer: web.StreamResponse = await handler(request)
        self.asked.append((request.method, request.path, answer.status))
        return answer

    async def _responses(self, request: web.Request) -> web.StreamResponse:
        return await self._forward(request, "/v1/responses")

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        return await self._forward(request, "/v1/messages")

    async def _forward(self, request: web.Request, path: str) -> web.StreamResponse:
        headers = {"Authorization": f"Bearer {self.model.key}", "Content-Type": "application/json"}
        body = await request.read()
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{self.model.url}{path}", data=body, headers=headers) as answer,
        ):
            kind = answer.headers.get("Content-Type", "text/event-stream")
            passed = web.StreamResponse(status=answer.status, headers={"Content-Type": kind})
            await passed.prepare(request)
            async for piece in answer.content.iter_any():
                await passed.write(piece)
            await passed.write_eof()
            return passed

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response({"models": []})

    async def _accounts(self, _request: web.Request) -> web.Response:
        account = {"account_id": ACCOUNT, "plan_type": "pro", "structure": "personal"}
        origin = {
            "workspace_backend_origin": self.origin,
            "account_routing_override": "NO_CONSTRAINT",
        }
        entry = {"id": ACCOUNT, "account": account, **account, "name": None, **origin}
        return web.json_response({"accounts": [entry], "account_ordering": [ACCOUNT]})

    async def _elsewhere(self, _request: web.Request) -> web.Response:
        return web.json_response({}, status=404)


@asynccontextmanager
async def plan_vendor(issuer: Issuer, model: ModelServer) -> AsyncIterator[PlanVendor]:
    """Serve the vendors of an issuer's people."""
    vendor = PlanVendor(issuer, model)
    runner = web.AppRunner(vendor.app())
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        vendor.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield vendor
    finally:
        await runner.cleanup()
