"""Ports of a sandbox's loopback, for who may use the sandbox: a channel of bytes to one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.principal import Principal
from atoll.ports.runtime import Channel
from atoll.services.sandboxes import Sandboxes


@asynccontextmanager
async def dialled(
    sandboxes: Sandboxes, caller: Principal, ref: str, port: int
) -> AsyncIterator[Channel]:
    """The runtime's channel to the port. Raises `NotFound`, `Conflict` (it does not run),
    `Unavailable`."""
    _, client = await sandboxes.runtime(caller, ref, activity=True)
    async with client.attach(f"/ports/{port}") as channel:
        yield channel
