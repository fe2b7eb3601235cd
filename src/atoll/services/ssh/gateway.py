"""The SSH gateway, as the control plane serves it and passes clients on to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from atoll.domain.people.principal import Principal
from atoll.ports.outside.ssh_gateway import Dialled, SshGateway
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.keys import SshKeys
from atoll.services.ssh.logins import SshLogins
from atoll.wire.contract.ssh import Identity


@dataclass(frozen=True, slots=True)
class SshServices:
    """The use cases of SSH: people's keys, the logins that the gateway judges by them, and the
    gateway itself."""

    keys: SshKeys
    logins: SshLogins
    gateway: SshGateway
    sandboxes: Sandboxes

    async def identity(self) -> Identity:
        """Return the keys that the gateway shows, and where it listens."""
        return Identity(host_key=self.gateway.host_key(), address=self.gateway.address)

    @asynccontextmanager
    async def dial(self, caller: Principal, ref: str, peer: str) -> AsyncIterator[Dialled]:
        """Yield a connection to the gateway, for a client that wants to log in to this sandbox.
        Raises `NotFound`, `Unavailable`."""
        sandbox = await self.sandboxes.get(caller, ref)
        async with self.gateway.dial(sandbox.id, peer) as dialled:
            yield dialled
