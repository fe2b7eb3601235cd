"""Machines by OpenSSH, against a real server of an ordinary user; and the fake, by the same
contract."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path
from platform import machine

import pytest

from atoll.adapters.extensions.ssh.backend import SshPlaces
from atoll.adapters.extensions.ssh.client import SshClient, SshHost
from atoll.adapters.extensions.ssh.identity import SshIdentity
from atoll.adapters.extensions.ssh.machines import OpenSshMachines
from atoll.domain.errors import Failed
from atoll.domain.hosts.reading import SshAddress, best_key, read_address
from atoll.ports.outside.ssh import SshMachines
from atoll.testing import FakeSshMachines, SshMachinesContract
from atoll.testing.contracts.outside.ssh import host_at
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import FOR_OTHERS, install
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAS36OZisKD2OHSgwnvTaGeeTaqB04Tu8MCN8vpYPRQN"
OTHER = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPAfv5jJ1KpyAofMqQxO7w5zX2s4CmiTRvCOkPHcRAyf"


@pytest.fixture
def server() -> Iterator[SshServer]:
    if reason := missing():
        pytest.skip(reason)
    with throwaway_ssh_server() as made:
        yield made


@pytest.fixture
def machines(tmp_path: Path) -> OpenSshMachines:
    """With the programs that a zygote has for other machines."""
    home = Home(tmp_path)
    install(home)
    places = SshPlaces(tmp_path / "ssh", home.programs / FOR_OTHERS)
    return OpenSshMachines(places, "atoll-test", machine())


class TestOpenSsh(SshMachinesContract):
    @pytest.fixture
    async def address(self, server: SshServer, machines: OpenSshMachines) -> SshAddress:
        server.authorize(await machines.public_key())
        self.server = server
        return read_address(server.address)

    async def swap(self, machines: SshMachines, address: SshAddress) -> None:
        await asyncio.to_thread(self.server.swap_key)

    def nowhere(self) -> SshAddress:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            return SshAddress("ada", "127.0.0.1", free.getsockname()[1])

    async def test_wall_is_tried_as_the_ordinary_user(
        self, machines: OpenSshMachines, address: SshAddress
    ) -> None:
        key = best_key(await machines.host_keys(address))
        check = await machines.examine(host_at(address, key or ""))
        assert check.wall, check.problems
        assert any(lack.startswith("memory") for lack in check.lacks)

    async def test_machine_that_lets_nobody_in_is_told_with_the_line_it_needs(
        self, machines: OpenSshMachines, address: SshAddress
    ) -> None:
        self.server.authorize("")
        key = best_key(await machines.host_keys(address))
        check = await machines.examine(host_at(address, key or ""))
        assert (check.reachable, check.key_unchanged, check.wall) == (True, True, False)
        assert await machines.public_key() in check.problems[0]

    async def test_swapped_key_is_refused_by_the_client_and_nothing_is_sent(
        self, machines: OpenSshMachines, address: SshAddress
    ) -> None:
        key = best_key(await machines.host_keys(address)) or ""
        identity = SshIdentity(machines.places.folder, "x").file
        client = SshClient(
            "box", SshHost(self.server.address, key, str(identity)), machines.places.folder
        )
        mark = self.server.home / "mark"
        ran = await client.run('touch "$1"', str(mark), seconds=20)
        assert (ran.code, mark.exists()) == (0, True)
        await client.close()
        mark.unlink()
        await self.swap(machines, address)
        with pytest.raises(Failed, match="another key than the one pinned"):
            await client.run('touch "$1"', str(mark), seconds=20)
        assert not mark.exists()
        await client.close()


class TestFake(SshMachinesContract):
    @pytest.fixture
    def machines(self) -> FakeSshMachines:
        return FakeSshMachines({"box": (KEY,)}, {"box"})

    @pytest.fixture
    def address(self) -> SshAddress:
        return SshAddress("ada", "box", 2222)

    async def swap(self, machines: SshMachines, address: SshAddress) -> None:
        assert isinstance(machines, FakeSshMachines)
        machines.keys[address.machine] = (OTHER,)

    def nowhere(self) -> SshAddress:
        return SshAddress("ada", "nowhere", 22)


async def test_identity_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    identities = [SshIdentity(tmp_path / "ssh", "atoll-x") for _ in range(3)]
    lines = await asyncio.gather(*(one.authorized_line() for one in identities))
    assert len(set(lines)) == 1
    assert lines[0].startswith("restrict ssh-ed25519 ") and lines[0].endswith(" atoll-x")
    file = tmp_path / "ssh" / "identity"
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in file.parent.iterdir()] == ["identity"]
