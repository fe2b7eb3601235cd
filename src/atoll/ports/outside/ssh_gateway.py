"""The SSH gateway of this home, a process beside the control plane."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class GatewayConnection(Protocol):
    """A connection to the gateway: bytes both ways."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield what the gateway sends, until it ends."""
        ...

    async def send(self, data: bytes) -> None:
        """Send bytes; waits while the gateway reads nothing. Raises `Unavailable` at its end."""
        ...


class SshGateway(Protocol):
    """The gateway."""

    @property
    def wanted(self) -> str:
        """The address at which it is to listen, empty for none; port 0 takes any."""
        ...

    @property
    def address(self) -> str:
        """The address at which it listens now, empty for none."""
        ...

    def dial(self, sandbox_id: str, peer: str) -> AbstractAsyncContextManager[GatewayConnection]:
        """Connect a client to it, who may use that sandbox and comes from the address `peer`. It is
        started where it does not run. Raises `Unavailable`."""
        ...

    async def run(self) -> None:
        """Keep it running, where it listens or was dialled, until cancelled."""
        ...
