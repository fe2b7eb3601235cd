"""A peer of E2B: its REST API and, by the ASGI app of E2B's own wheel, its machines' process calls.

The unmodified library of E2B is its client. Machines are namespaces of this machine.
"""

import asyncio
import datetime
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.request import RequestContext
from e2b.envd.process.process_connect import ProcessASGIApplication
from e2b.exceptions import SANDBOX_NOT_FOUND_MESSAGE
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from tests.peers.clouds.e2b_processes import Processes
from tests.peers.clouds.http_api import HttpApi, served
from tests.peers.clouds.machine import Machine
from tests.peers.clouds.proxy import Proxy, proxied

KEY = "e2b_0123456789abcdef-canary-of-the-vendors-key"
ENVD = "0.6.4"
DEFAULT_SECONDS = 300
PAGE = 100


@dataclass
class Sold:
    """A machine that is rented. `machine` is None for one that only stands in the list."""

    id: str
    body: dict[str, Any]
    machine: Machine | None
    ends_at: float
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def tags(self) -> dict[str, str]:
        """What it was tagged with."""
        return dict(self.body.get("metadata") or {})

    @property
    def is_closed(self) -> bool:
        """Whether it was asked for without a network."""
        return self.body["allow_internet_access"] is False

    def listed(self, peer: "E2bPeer") -> dict[str, Any]:
        """As a list shows it."""
        return {
            "templateID": self.body["templateID"], "sandboxID": self.id, "clientID": "c",
            "startedAt": _instant(time.time()), "endAt": _instant(self.ends_at - peer.ahead),
            "cpuCount": 2, "memoryMB": 512, "diskSizeMB": 1024, "state": "running",
            "envdVersion": ENVD, "metadata": self.body.get("metadata") or {},
        }  # fmt: skip

    def made(self) -> dict[str, Any]:
        """As a create answers."""
        return {
            "templateID": self.body["templateID"], "sandboxID": self.id, "clientID": "c",
            "envdVersion": ENVD, "envdAccessToken": self.token,
        }  # fmt: skip


class E2bPeer:
    """The vendor. `sold` are the machines there are; `rented` counts every one there ever was."""

    def __init__(self) -> None:
        self._api = HttpApi("x-api-key", KEY, _problem)
        self.faults = self._api.faults
        self.sold: dict[str, Sold] = {}
        self.rented = 0
        self.ahead = 0.0
        self.url = ""
        self.proxy: Proxy
        self.forgets_tokens = False
        self.lists_all = False
        self.processes = Processes(self._machine_of)
        self._by_token: dict[str, Sold] = {}
        self._lock = asyncio.Lock()
        self.app = Starlette(
            routes=[
                Route("/v2/sandboxes", self._create, methods=["POST"]),
                Route("/v2/sandboxes", self._list, methods=["GET"]),
                Route("/v2/sandboxes/{id}/connect", self._connect, methods=["POST"]),
                Route("/sandboxes/{id}/timeout", self._timeout, methods=["POST"]),
                Route("/sandboxes/{id}", self._kill, methods=["DELETE"]),
                Mount("/", ProcessASGIApplication(self.processes, read_max_bytes=None)),
            ]
        )

    @property
    def live(self) -> list[Sold]:
        """The machines that run by now."""
        self._expire()
        return list(self.sold.values())

    def advance(self, seconds: float) -> None:
        """Let the vendor's clock go on."""
        self.ahead += seconds
        self._expire()

    def deadline(self, sold: Sold) -> float:
        """How many seconds a machine lives if nobody comes back."""
        return sold.ends_at - self._now()

    def stray(self, count: int, metadata: dict[str, str]) -> None:
        """Have machines in the list that nobody knows of."""
        for _ in range(count):
            body = {"templateID": "base", "metadata": metadata}
            sold = Sold(secrets.token_hex(8), body, None, self._now() + 1800)
            self.sold[sold.id] = sold

    def cut(self) -> None:
        """Reset every connection, also of a stream on which nothing is said."""
        self.proxy.reset()

    def silence(self) -> None:
        """Let every stream fall silent; nobody is told, and new ones work."""
        self.proxy.silence()

    def close(self) -> None:
        """End every machine."""
        for sold in list(self.sold.values()):
            self.end(sold)

    async def _create(self, request: Request) -> Response:
        body = await request.json()

        async def act() -> Response:
            async with self._lock:
                token = request.headers.get("idempotency-key", "")
                known = token and not self.forgets_tokens
                sold = self._by_token.get(token) if known else None
                if sold is None:
                    sold = await asyncio.to_thread(self._sell, body)
                    if token:
                        self._by_token[token] = sold
            return JSONResponse(sold.made(), 201)

        return await self._api.answered("create", request, act)

    async def _list(self, request: Request) -> Response:
        async def act() -> Response:
            wanted = {
                unquote(name): unquote(value)
                for name, value in parse_qsl(request.query_params.get("metadata", ""))
            }
            found = [
                one for one in self.live
                if self.lists_all or wanted.items() <= (one.body.get("metadata") or {}).items()
            ]  # fmt: skip
            start = int(request.query_params.get("nextToken") or 0)
            page = found[start : start + PAGE]
            more = {"x-next-token": str(start + PAGE)} if start + PAGE < len(found) else {}
            return JSONResponse([one.listed(self) for one in page], headers=more)

        return await self._api.answered("list", request, act)

    async def _connect(self, request: Request) -> Response:
        body = await request.json()

        async def act() -> Response:
            sold = self._known(request)
            if sold is None:
                return _problem(404, "sandbox not found")
            longer = self._now() + body.get("timeout", DEFAULT_SECONDS)
            sold.ends_at = max(sold.ends_at, longer)
            return JSONResponse(sold.made(), 200)

        return await self._api.answered("connect", request, act)

    async def _timeout(self, request: Request) -> Response:
        body = await request.json()

        async def act() -> Response:
            sold = self._known(request)
            if sold is None:
                return _problem(404, "sandbox not found")
            sold.ends_at = self._now() + body["timeout"]
            return Response(status_code=204)

        return await self._api.answered("timeout", request, act)

    async def _kill(self, request: Request) -> Response:
        async def act() -> Response:
            sold = self._known(request)
            if sold is None:
                return _problem(404, "sandbox not found")
            await asyncio.to_thread(self.end, sold)
            return Response(status_code=204)

        return await self._api.answered("kill", request, act)

    def _sell(self, body: dict[str, Any]) -> Sold:
        machine = Machine(closed=body.get("allow_internet_access") is False)
        machine.start()
        seconds = body.get("timeout", DEFAULT_SECONDS)
        sold = Sold(secrets.token_hex(8), body, machine, self._now() + seconds)
        self.sold[sold.id] = sold
        self.rented += 1
        return sold

    def end(self, sold: Sold) -> None:
        """End a machine, as its deadline does."""
        self.sold.pop(sold.id, None)
        if sold.machine is not None:
            sold.machine.end()

    def _expire(self) -> None:
        for sold in list(self.sold.values()):
            if sold.ends_at <= self._now():
                self.end(sold)

    def _now(self) -> float:
        return time.time() + self.ahead

    def _known(self, request: Request) -> Sold | None:
        self._expire()
        return self.sold.get(request.path_params["id"])

    def _machine_of(self, ctx: RequestContext[Any, Any]) -> Machine:
        headers = ctx.request_headers
        self._expire()
        sold = self.sold.get(headers.get("e2b-sandbox-id") or "")
        if sold is None or sold.machine is None:
            raise ConnectError(Code.UNAVAILABLE, SANDBOX_NOT_FOUND_MESSAGE)
        if headers.get("x-access-token") != sold.token:
            raise ConnectError(Code.UNAUTHENTICATED, "wrong token")
        return sold.machine


@contextmanager
def e2b_peer() -> Iterator[E2bPeer]:
    """Yield a peer at a port that the system gives."""
    peer = E2bPeer()
    try:
        with served(peer.app, peer.faults, "none") as url, proxied(url) as peer.proxy:
            peer.url = peer.proxy.url
            yield peer
    finally:
        with suppress(OSError):
            peer.close()


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    body = {"code": status, "message": message}
    return Response(json.dumps(body), status, headers, "application/json")


def _instant(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()
