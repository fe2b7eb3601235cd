"""Ports of a sandbox's loopback, for who may use the sandbox: a channel of bytes to one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from atoll.domain.network.forwarded_port import read_port
from atoll.domain.people.principal import Principal
from atoll.ports.runtime import Channel
from atoll.services.sandboxes.sandboxes import Sandboxes


@asynccontextmanager
async def dialled(
    sandboxes: Sandboxes, caller: Principal, ref: str, port: str
) -> AsyncIterator[Channel]:
    """Yield the runtime's channel to the port. Raises `Invalid` and `Forbidden` as `read_port`
    does, `NotFound`, `Conflict` (it does not run), `Unavailable`."""
    number = read_port(port)
    _, client = await sandboxes.runtime(caller, ref, activity=True)
    async with client.attach(f"/ports/{number}") as channel:
        yield channel
