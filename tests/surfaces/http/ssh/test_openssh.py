"""Our certificates and files against OpenSSH itself, client and server: both know each other by
them, and by nothing else."""

import asyncio
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from atoll.client.client import Client
from atoll.client.made.ssh.access import SshGateway
from atoll.client.server import find_server
from atoll.surfaces.cli.ssh.client_files import ClientFiles, refresh
from tests.peers.machines.ssh_server import SshServer, missing, throwaway_ssh_server
from tests.surfaces.http.ssh.test_certificates import sandbox
from tests.surfaces.http.world import World, client_of

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))


@pytest.fixture
def machine() -> Iterator[SshServer]:
    with throwaway_ssh_server() as made:
        yield made


def login(files: ClientFiles, machine: SshServer, host: str = "box.atoll") -> tuple[int, str]:
    """Run a command by our files; the machine stands for the gateway."""
    words = ("-o", "ProxyCommand=none", "-o", "HostName=127.0.0.1", "-p", str(machine.port))
    command = ["ssh", "-F", str(files.hosts), *words, "-l", machine.user, host, "echo", "in"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout + ran.stderr


async def test_openssh_knows_gateway_and_person_by_our_certificates_alone(
    atoll: World, machine: SshServer, tmp_path: Path
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        box = await sandbox(client, name="box")
        await sandbox(client, name="other")
    host = await atoll.services.ssh.authority.host()
    users = await atoll.services.ssh.authority.user_authority()
    machine.stop()
    (machine.folder / "host_key").write_text(host.private)
    (machine.folder / "host_key-cert.pub").write_text(host.certificate + "\n")
    machine.settings = f"HostCertificate {machine.folder}/host_key-cert.pub\n"
    machine.authorize(f'cert-authority,principals="{box}" {users.line}')
    await asyncio.to_thread(machine.start)

    files = ClientFiles(tmp_path / "home")
    environ = {"ATOLL_URL": atoll.url, "ATOLL_TOKEN": atoll.token}
    gateway = SshGateway(Client(partial(find_server, environ)).transport)
    await asyncio.to_thread(lambda: files.write(gateway.get()))
    for name in ("box.atoll", "other"):
        await asyncio.to_thread(refresh, files, gateway, name)
    assert await asyncio.to_thread(login, files, machine) == (0, "in\n")
    # The certificate of another sandbox opens this one to nobody.
    code, words = await asyncio.to_thread(login, files, machine, "other.atoll")
    assert code == 255 and "Permission denied" in words
    # A gateway that shows another key, or ours without its certificate, is none.
    machine.settings = ""
    await asyncio.to_thread(machine.restart)
    code, words = await asyncio.to_thread(login, files, machine)
    assert code == 255 and "verification failed" in words
