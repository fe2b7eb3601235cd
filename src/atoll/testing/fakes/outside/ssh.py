"""Machines of SSH in memory."""

from dataclasses import dataclass, field

from atoll.domain.errors import Unavailable
from atoll.domain.hosts.host import Host, HostCheck
from atoll.domain.hosts.reading import SshAddress, fingerprint, read_address


@dataclass
class FakeSshMachines:
    """A `ports.outside.ssh.SshMachines`: each machine in `keys` shows these, by its name. `walls`
    has those where a sandbox can be walled in."""

    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    walls: set[str] = field(default_factory=set)

    async def host_keys(self, address: SshAddress) -> tuple[str, ...]:
        """See the port."""
        shown = self.keys.get(address.machine, ())
        if not shown:
            raise Unavailable(f"no SSH server answers at {address.machine}")
        return shown

    async def public_key(self) -> str:
        """See the port."""
        return "restrict ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA atoll-fake"

    async def examine(self, host: Host) -> HostCheck:
        """See the port."""
        try:
            shown = await self.host_keys(read_address(host.address))
        except Unavailable as error:
            return HostCheck(False, None, False, (error.message,))
        if host.host_key not in shown:
            problem = f"it shows another key: {', '.join(map(fingerprint, shown))}"
            return HostCheck(True, False, False, (problem,))
        wall = read_address(host.address).machine in self.walls
        return HostCheck(True, True, wall, () if wall else ("no wall",), ("memory: none",))
