"""A SSH gateway in memory, which sends back what it is sent, or is not there."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.errors import Unavailable
from atoll.ports.outside.ssh_gateway import GatewayConnection


class FakeSshGateway:
    """A `SshGateway`; one that is not `there` refuses everybody."""

    wanted = ""
    address = ""

    def __init__(self, *, there: bool = True) -> None:
        self._there = there

    @asynccontextmanager
    async def dial(self, sandbox_id: str, peer: str) -> AsyncIterator[GatewayConnection]:
        """Connect a client."""
        del sandbox_id, peer
        if not self._there:
            raise Unavailable("there is no SSH gateway here")
        yield _Echo()

    async def run(self) -> None:
        """Do nothing."""


class _Echo:
    def __init__(self) -> None:
        self._sent: asyncio.Queue[bytes] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._sent.get()

    async def send(self, data: bytes) -> None:
        await self._sent.put(data)
