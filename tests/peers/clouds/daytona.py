"""A peer of Daytona: its API by the models of its generated clients, and machines with terminals.

The unmodified libraries of Daytona are its clients. Machines are namespaces of this machine.
"""

import asyncio
import datetime
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from daytona_api_client import (
    CreateSandbox,
    ListSandboxesResponse,
    Sandbox,
    SandboxListItem,
    SandboxState,
)
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from tests.peers.clouds.daytona_toolbox import Toolbox
from tests.peers.clouds.http_api import HttpApi, served
from tests.peers.clouds.machine import Machine

KEY = "dtn_0123456789abcdef-canary-of-the-vendors-key"
USUAL_IDLE_MINUTES = 15
SOME: dict[str, Any] = {
    "organization_id": "org", "user": "daytona", "public": False, "target": "us", "cpu": 1,
    "gpu": 0, "memory": 1, "disk": 3, "kvm": False,
}  # fmt: skip
Act = Callable[[], Awaitable[Response]]


@dataclass
class Sold:
    """A machine that is rented. `machine` is None for one that only stands in the list."""

    id: str
    body: CreateSandbox
    machine: Machine | None
    active: float
    destroyed_at: float
    state: SandboxState = SandboxState.STARTED

    @property
    def tags(self) -> dict[str, str]:
        """What it was tagged with."""
        return dict(self.body.labels or {})

    @property
    def is_closed(self) -> bool:
        """Whether it was asked for without a network."""
        return self.body.network_block_all is True

    @property
    def ends_at(self) -> float:
        """When it ends unless somebody comes: by its time to live, or idle and then deleted."""
        idle = self.body.auto_stop_interval
        minutes = USUAL_IDLE_MINUTES if idle is None else idle
        is_deleted = minutes and self.body.auto_delete_interval == 0
        return min(self.destroyed_at, self.active + minutes * 60 if is_deleted else float("inf"))


class DaytonaPeer:
    """The vendor. `sold` are the machines there are; `rented` counts every one there ever was."""

    def __init__(self) -> None:
        self._api = HttpApi("authorization", KEY, _problem, "Bearer ")
        self.faults = self._api.faults
        self.sold: dict[str, Sold] = {}
        self.rented = 0
        self.ahead = 0.0
        self.url = ""
        self.forgets_tokens = False
        self.lists_all = False
        self.starts_as = SandboxState.STARTED
        self.processes = Toolbox(self._machine_of)
        self._lock = asyncio.Lock()
        one = "/sandbox/{id}"
        self.app = Starlette(
            routes=[
                Route("/sandbox", self._create, methods=["POST"]),
                Route("/sandbox", self._list, methods=["GET"]),
                Route(one, self._get, methods=["GET"]),
                Route(one, self._delete, methods=["DELETE"]),
                Route(one + "/ttl/{minutes:int}", self._ttl, methods=["POST"]),
                Route(one + "/last-activity", self._activity, methods=["POST"]),
                Mount(
                    "/toolbox/{id}",
                    routes=[
                        Route("/user-home-dir", self.processes.home),
                        Route("/files/info", self.processes.info),
                        Route("/files/bulk-upload", self.processes.upload, methods=["POST"]),
                        Route("/process/pty/{pty}", self.processes.kill, methods=["DELETE"]),
                        WebSocketRoute("/process/pty/create-connect", self.processes.create),
                    ],
                ),
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
        body = CreateSandbox(labels=metadata, ttl_minutes=30)
        for _ in range(count):
            self._add(body, None)

    def cut(self) -> None:
        """Cut every stream, as a proxy that is restarted does."""
        self.processes.cut()

    def close(self) -> None:
        """End every machine."""
        for sold in list(self.sold.values()):
            self.end(sold)

    def end(self, sold: Sold) -> None:
        """End a machine, as its deadline does."""
        self.sold.pop(sold.id, None)
        if sold.machine is not None:
            sold.machine.end()

    async def _create(self, request: Request) -> Response:
        async def act() -> Response:
            body = CreateSandbox.from_dict(await request.json())
            assert body is not None
            assert not body.additional_properties, body.additional_properties
            async with self._lock:
                if not self.forgets_tokens and any(s.body.name == body.name for s in self.live):
                    return _problem(409, f"Sandbox with name {body.name} already exists")
                sold = await asyncio.to_thread(self._sell, body)
            return self._shown(sold)

        return await self._api.answered("create", request, act)

    async def _list(self, request: Request) -> Response:
        async def act() -> Response:
            wanted = json.loads(request.query_params.get("labels", "{}"))
            found = [s for s in self.live if self.lists_all or wanted.items() <= s.tags.items()]
            start = int(request.query_params.get("cursor") or 0)
            until = start + int(request.query_params.get("limit") or 100)
            items = [SandboxListItem(**self._facts(sold)) for sold in found[start:until]]
            more = str(until) if until < len(found) else None
            answer = ListSandboxesResponse(items=items, next_cursor=more)
            return Response(answer.to_json(), media_type="application/json")

        return await self._api.answered("list", request, act)

    async def _get(self, request: Request) -> Response:
        return await self._found("get", request, lambda sold: None)

    async def _delete(self, request: Request) -> Response:
        def ended(sold: Sold) -> None:
            self.end(sold)
            sold.state = SandboxState.DESTROYING

        return await self._found("delete", request, ended)

    async def _ttl(self, request: Request) -> Response:
        def moved(sold: Sold) -> None:
            sold.destroyed_at = self._now() + request.path_params["minutes"] * 60

        return await self._found("ttl", request, moved)

    async def _activity(self, request: Request) -> Response:
        def moved(sold: Sold) -> None:
            sold.active = self._now()

        return await self._found("activity", request, moved)

    async def _found(self, name: str, request: Request, do: Callable[[Sold], None]) -> Response:
        async def act() -> Response:
            wanted = request.path_params["id"]
            found = [s for s in self.live if wanted in (s.id, s.body.name)]
            if not found:
                return _problem(404, f"Sandbox {wanted} not found")
            await asyncio.to_thread(do, found[0])
            return self._shown(found[0])

        return await self._api.answered(name, request, act)

    def _sell(self, body: CreateSandbox) -> Sold:
        machine = Machine(closed=body.network_block_all is True)
        machine.start()
        sold = self._add(body, machine)
        self.rented += 1
        return sold

    def _add(self, body: CreateSandbox, machine: Machine | None) -> Sold:
        now = self._now()
        end = now + body.ttl_minutes * 60 if body.ttl_minutes else float("inf")
        sold = Sold(secrets.token_hex(8), body, machine, now, end, self.starts_as)
        self.sold[sold.id] = sold
        return sold

    def _expire(self) -> None:
        for sold in list(self.sold.values()):
            if sold.ends_at <= self._now():
                self.end(sold)

    def _now(self) -> float:
        return time.time() + self.ahead

    def _facts(self, sold: Sold) -> dict[str, Any]:
        end = min(sold.destroyed_at - self.ahead, time.time() + 10**9)
        return {
            **SOME, "id": sold.id, "name": sold.body.name or sold.id, "labels": sold.tags,
            "network_block_all": sold.is_closed, "state": sold.state, "error_reason": "out of luck",
            "toolbox_proxy_url": f"{self.url}/toolbox",
            "auto_destroy_at": datetime.datetime.fromtimestamp(end, datetime.UTC).isoformat(),
        }  # fmt: skip

    def _shown(self, sold: Sold) -> Response:
        shown = Sandbox(env=sold.body.env or {}, **self._facts(sold))
        return Response(shown.to_json(), media_type="application/json")

    def _machine_of(self, machine: str, said: str) -> Machine | None:
        self._expire()
        sold = self.sold.get(machine)
        return sold.machine if sold is not None and said == f"Bearer {KEY}" else None


@contextmanager
def daytona_peer() -> Iterator[DaytonaPeer]:
    """Yield a peer at a port that the system gives."""
    peer = DaytonaPeer()
    try:
        with served(peer.app, peer.faults, "wsproto") as peer.url:
            yield peer
    finally:
        with suppress(OSError):
            peer.close()


def _problem(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"statusCode": status, "message": message}, status, headers)
