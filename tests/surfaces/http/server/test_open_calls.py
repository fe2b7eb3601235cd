"""How many requests a caller may have open at a time, and how seldom their login is looked at."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from atoll.domain.ids import PrincipalId, SandboxId
from atoll.domain.people.principal import LOCAL_PERSON, Principal, TokenAccess
from atoll.services.people.shares import Shares
from atoll.surfaces.http.server import guard, rate_limits
from atoll.surfaces.http.server.rate_limits import OpenCalls
from tests.surfaces.http.dashboards.test_shares import _enter, _link
from tests.surfaces.http.team import team_of
from tests.surfaces.http.world import World, client_of

ANN = replace(LOCAL_PERSON, id=PrincipalId("ann"))
INSIDE = TokenAccess("run:1", datetime.max.replace(tzinfo=UTC), SandboxId("sb_1"))


class Calls:
    """An app whose requests stay open until they are let go, behind what bounds them."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.bounded = OpenCalls(self._stay)

    async def _receive(self) -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def _stay(self, scope: Any, receive: Any, send: Any) -> None:
        await self.let_go.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})

    async def call(self, caller: Principal | None) -> int:
        status = []

        async def send(message: Any) -> None:
            status.extend([message["status"]] if message["type"].endswith("start") else [])

        scope = {"type": "http", "path": "/", "headers": [], "state": {"caller": caller}}
        await self.bounded(scope, self._receive, send)
        return int(status[0])


@pytest.fixture(autouse=True)
def _bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "MAX_OPEN", 3)
    monkeypatch.setattr(rate_limits, "MAX_OPEN_OF_GUEST", 2)


async def test_one_call_too_many_is_refused_until_one_has_ended() -> None:
    calls = Calls()
    async with asyncio.TaskGroup() as tasks:
        ours = [tasks.create_task(calls.call(ANN)) for _ in range(3)]
        await asyncio.sleep(0)
        assert await calls.call(ANN) == 429
        calls.let_go.set()
    assert [one.result() for one in ours] == [204] * 3
    assert await calls.call(ANN) == 204


async def test_token_of_a_sandbox_has_fewer_and_takes_none_of_its_owner() -> None:
    calls = Calls()
    inside = replace(ANN, token=INSIDE)
    async with asyncio.TaskGroup() as tasks:
        ours = [tasks.create_task(calls.call(inside)) for _ in range(2)]
        await asyncio.sleep(0)
        assert await calls.call(inside) == 429
        ours += [tasks.create_task(calls.call(ANN)) for _ in range(3)]
        await asyncio.sleep(0)
        calls.let_go.set()
    assert [one.result() for one in ours] == [204] * 5


@pytest.mark.parametrize("caller", [None, LOCAL_PERSON])
async def test_nobody_known_and_the_person_of_the_installation_are_not_counted(
    caller: Principal | None,
) -> None:
    calls = Calls()
    async with asyncio.TaskGroup() as tasks:
        ours = [tasks.create_task(calls.call(caller)) for _ in range(9)]
        calls.let_go.set()
    assert [one.result() for one in ours] == [204] * 9


async def test_socket_too_many_is_refused(atoll: World) -> None:
    await team_of(atoll, mel="member")
    headers = {"Authorization": "Bearer token-of-mel"}
    async with aiohttp.ClientSession(headers=headers) as session, AsyncExitStack() as stack:
        stream = f"{atoll.url}/v1/events/stream"
        for _ in range(3):
            await stack.enter_async_context(session.ws_connect(stream))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(stream)
    assert refused.value.status == 429


async def test_connections_of_one_login_are_looked_at_together(
    atoll: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, held = [], Shares.holder

    async def holder(self: Shares, session: str) -> Any:
        looks.append(session)
        return await held(self, session)

    monkeypatch.setattr(rate_limits, "MAX_OPEN_OF_GUEST", 100)
    monkeypatch.setattr(guard, "RECHECK_SECONDS", 0.05)
    monkeypatch.setattr(guard, "SAME_LOOK_SECONDS", 60.0)
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        board = await _guest(atoll, session)
        sockets = [await stack.enter_async_context(session.ws_connect(board)) for _ in range(10)]
        monkeypatch.setattr(Shares, "holder", holder)
        await asyncio.sleep(0.3)  # six checks of each
        assert len(looks) <= 2
        assert not any(one.closed for one in sockets)


async def _guest(atoll: World, session: aiohttp.ClientSession) -> str:
    """Let a session be a guest's, and return the URL of a WebSocket that it may open."""
    async with client_of(atoll.url, atoll.token) as owner:
        board = (await owner.post("/v1/dashboards", json={"name": "Board"})).json()["id"]
    _, secret = await _link(atoll, board)
    _, headers = await _enter(atoll, secret)
    session.headers.update(headers)
    return f"{atoll.url}/v1/dashboards/{board}/attach"


async def test_guest_has_fewer_sockets(atoll: World) -> None:
    async with aiohttp.ClientSession() as session, AsyncExitStack() as stack:
        board = await _guest(atoll, session)
        for _ in range(2):
            await stack.enter_async_context(session.ws_connect(board))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(board)
    assert refused.value.status == 429
