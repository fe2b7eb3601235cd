import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from atoll.adapters.bus.nats_bus import NatsBus
from atoll.adapters.bus.settings import BusSettings
from tests.peers.nats.server import NatsServer, connected, nats_server

Replica = Callable[[BusSettings], AbstractAsyncContextManager[NatsBus]]
_numbers = itertools.count()


@pytest.fixture(scope="session")
def nats() -> Iterator[NatsServer]:
    """A server for all tests that leave it running; each has subjects of its own."""
    with nats_server() as server:
        yield server


@pytest.fixture
def settings(nats: NatsServer) -> BusSettings:
    return BusSettings(bus_url=nats.url, bus_prefix=f"test{next(_numbers)}")


@pytest.fixture
def replica() -> Replica:
    """Make the bus of one more replica."""

    @asynccontextmanager
    async def made(settings: BusSettings) -> AsyncIterator[NatsBus]:
        async with connected(settings) as (bus, _link):
            yield bus

    return made
