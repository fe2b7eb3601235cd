"""The contract of SshMachines: machines that SSH reaches.

Subclass `SshMachinesContract` in a test module and give it the fixtures `machines` and `address`,
of a machine that answers. Implement `swap`, which has it show other keys, and `nowhere`.
"""

from abc import ABC, abstractmethod

import pytest

from atoll.domain.errors import Unavailable
from atoll.domain.hosts.host import LOCAL_HOST, Host, HostId
from atoll.domain.hosts.reading import SshAddress, best_key, read_host_key
from atoll.ports.outside.ssh import SshMachines
from atoll.wire.words.hosts import HostKind


def host_at(address: SshAddress, host_key: str) -> Host:
    """Return a host that is pinned to a key."""
    spelled = f"ssh://{address.user}@{address.machine}:{address.port}"
    made = LOCAL_HOST.created_at
    return Host(HostId("ho_1"), "box", HostKind.SSH, made, spelled, host_key)


class SshMachinesContract(ABC):
    """Contract of machines by SSH: their keys are shown, and a changed one is told."""

    @abstractmethod
    async def swap(self, machines: SshMachines, address: SshAddress) -> None:
        """Have the machine show other keys from now on."""

    @abstractmethod
    def nowhere(self) -> SshAddress:
        """Return an address at which nobody answers."""

    async def test_machine_shows_keys_that_can_be_pinned(
        self, machines: SshMachines, address: SshAddress
    ) -> None:
        keys = await machines.host_keys(address)
        assert keys and all(read_host_key(key) == key for key in keys)
        assert await machines.host_keys(address) == keys

    async def test_machine_that_does_not_answer_is_unavailable(self, machines: SshMachines) -> None:
        with pytest.raises(Unavailable):
            await machines.host_keys(self.nowhere())
        check = await machines.examine(host_at(self.nowhere(), "ssh-ed25519 AAAAC3NzaC1lZDI1"))
        assert (check.reachable, check.key_unchanged, check.wall) == (False, None, False)
        assert check.problems

    async def test_own_key_stays_the_same(self, machines: SshMachines) -> None:
        line = await machines.public_key()
        assert "ssh-ed25519 AAAA" in line and "\n" not in line
        assert await machines.public_key() == line

    async def test_host_with_its_key_is_looked_at(
        self, machines: SshMachines, address: SshAddress
    ) -> None:
        key = best_key(await machines.host_keys(address))
        check = await machines.examine(host_at(address, key or ""))
        assert (check.reachable, check.key_unchanged) == (True, True)
        assert check.wall is not bool(check.problems)

    async def test_swapped_key_is_told_and_nothing_else_is_looked_at(
        self, machines: SshMachines, address: SshAddress
    ) -> None:
        key = best_key(await machines.host_keys(address))
        await self.swap(machines, address)
        check = await machines.examine(host_at(address, key or ""))
        assert (check.reachable, check.key_unchanged, check.wall) == (True, False, False)
        assert "SHA256:" in check.problems[0]
