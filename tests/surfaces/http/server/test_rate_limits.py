"""The rate limit of callers: told on each answer, and never for somebody else's requests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from atoll.domain.ids import PrincipalId
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.domain.people.rate_limit import RateLimit
from atoll.surfaces.http.server import rate_limits
from atoll.surfaces.http.server.rate_limits import RateLimits

LIMIT = RateLimit(3, 60)


class _As:
    """Stands where the guard does: the header `who` names the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        who = dict(scope.get("headers", ())).get(b"who")
        caller: Principal | None = None
        if who is not None:
            caller = replace(LOCAL_PERSON, id=PrincipalId(who.decode()))
        scope["state"] = {"caller": caller} if caller else {}
        await self._app(scope, receive, send)


def _app(now: list[float]) -> ASGIApp:
    async def hello(_: object) -> PlainTextResponse:
        return PlainTextResponse("hello")

    async def socket(connection: WebSocket) -> None:
        await connection.accept()
        await connection.close()

    app = Starlette(routes=[Route("/", hello), WebSocketRoute("/socket", socket)])
    return _As(RateLimits(app, limit=LIMIT, seconds=lambda: now[0]))


@asynccontextmanager
async def _client(now: list[float]) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=_app(now))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client


async def _ask(client: httpx.AsyncClient, who: str = "ada") -> Any:
    return await client.get("/", headers={"who": who})


async def test_answers_tell_what_is_left_and_the_fourth_waits() -> None:
    now = [0.0]
    async with _client(now) as client:
        first = await _ask(client)
        assert first.headers["RateLimit-Policy"] == '"default";q=3;w=60'
        assert first.headers["RateLimit"] == '"default";r=2;t=20'
        await _ask(client)
        await _ask(client)
        late = await _ask(client)
        assert (late.status_code, late.json()["code"]) == (429, "rate_limited")
        assert late.headers["Retry-After"] == "20"
        assert late.headers["RateLimit"] == '"default";r=0;t=60'
        assert (await _ask(client, "bob")).status_code == 200
        now[0] += 20
        assert (await _ask(client)).status_code == 200


async def test_request_without_a_caller_is_not_counted() -> None:
    async with _client([0.0]) as client:
        for _ in range(5):
            answer = await client.get("/")
            assert (answer.status_code, "RateLimit" in answer.headers) == (200, False)


async def test_callers_are_forgotten_before_they_fill_the_memory(monkeypatch: Any) -> None:
    monkeypatch.setattr(rate_limits, "MAX_CALLERS", 2)
    async with _client([0.0]) as client:
        for who in ("ada", "bob", "eve"):
            await _ask(client, who)
        answer = await _ask(client, "ada")
        assert answer.headers["RateLimit"] == '"default";r=2;t=20'


async def test_handshake_of_a_socket_is_one_request() -> None:
    app = _app([0.0])
    assert [await _handshake(app) for _ in range(4)] == [
        *["websocket.accept"] * 3,
        "websocket.http.response.start",
    ]


async def _handshake(app: ASGIApp) -> str:
    """Open a WebSocket; return the type of the first answer."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "websocket",
        "path": "/socket",
        "headers": [(b"who", b"ada")],
        "query_string": b"",
        "extensions": {"websocket.http.response": {}},
    }
    await app(scope, receive, send)
    first: str = sent[0]["type"]
    return first
