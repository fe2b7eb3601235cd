"""The SshMachines port: machines that SSH reaches, looked at before a sandbox is placed there."""

from typing import Protocol

from atoll.domain.hosts.host import Host, HostCheck
from atoll.domain.hosts.reading import SshAddress


class SshMachines(Protocol):
    """Machines by SSH. Nothing but `examine` logs in, and that only where the key is unchanged."""

    async def host_keys(self, address: SshAddress) -> tuple[str, ...]:
        """Return the public keys that a machine shows, each a type and a key, none of them
        verified. Raises `Unavailable` when it shows none."""
        ...

    async def public_key(self) -> str:
        """Return the line of this installation's own key for `~/.ssh/authorized_keys`; the key pair
        is made by the first call. Raises `Failed`."""
        ...

    async def examine(self, host: Host) -> HostCheck:
        """Look at a host. What is wrong there is in the result, also that it cannot be reached or
        shows another key: then nothing was sent."""
        ...
