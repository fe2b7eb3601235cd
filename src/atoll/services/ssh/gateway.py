"""The SSH gateway, as the control plane serves it and passes clients on to it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import Principal
from atoll.ports.outside.ssh_gateway import GatewayConnection, SshGateway
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.ssh.authority import SshAuthority
from atoll.services.ssh.certificates import SshCertificates
from atoll.services.ssh.keys import SshKeys
from atoll.services.ssh.logins import SshLogins
from atoll.wire.contract.ssh import Identity


@dataclass(frozen=True, slots=True)
class SshServices:
    """The use cases of SSH: people's keys, certificates and what signs them, the logins that the
    gateway judges by them, and the gateway itself."""

    keys: SshKeys
    authority: SshAuthority
    certificates: SshCertificates
    logins: SshLogins
    gateway: SshGateway
    sandboxes: Sandboxes

    def address(self) -> str | None:
        """Return `host:port` of the gateway, None where it listens at none."""
        return self.gateway.address or None

    async def identity(self) -> Identity:
        """Return the keys that the gateway shows, and where it is to listen."""
        host = await self.authority.host()
        return Identity(
            host_key=host.private,
            host_certificate=host.certificate,
            address=self.gateway.wanted,
        )

    @asynccontextmanager
    async def dial(
        self, caller: Principal, ref: str, peer: str
    ) -> AsyncIterator[GatewayConnection]:
        """Yield a connection to the gateway, for a client that wants to log in to this sandbox.
        Raises `NotFound`, `Unavailable`."""
        access = caller.guest_access
        if access is not None and access.covers(ref):
            sandbox_id = SandboxId(ref)
        else:
            sandbox_id = (await self.sandboxes.get(caller, ref)).id
        async with self.gateway.dial(sandbox_id, peer) as dialled:
            yield dialled
