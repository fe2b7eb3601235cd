"""One world per test, and clients of both eras of the protocol on the official SDK."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Literal

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.peers.event_schemas import events_fit_their_schemas as events_fit_their_schemas
from tests.surfaces.http.world import World, world

Era = Literal["legacy", "auto"]
Connect = Callable[..., AbstractAsyncContextManager[Client]]


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


@pytest.fixture(params=["legacy", "auto"])
def era(request: pytest.FixtureRequest) -> Era:
    """The era of the client: with a handshake, or the newest revision."""
    found: Era = request.param
    return found


@pytest.fixture
def connect(atoll: World, era: Era) -> Connect:
    @asynccontextmanager
    async def connected(token: str = atoll.token, query: str = "") -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, verify=False) as http:
            transport = streamable_http_client(f"{atoll.url}/mcp{query}", http_client=http)
            async with Client(transport, mode=era) as client:
                yield client

    return connected
