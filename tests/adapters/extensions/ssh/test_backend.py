"""Where `ext.ssh` finds its hosts: by name, as they are known now, and no other."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from platform import machine

import pytest

from atoll.adapters.extensions.ssh.backend import SshBackend, SshPlaces
from atoll.adapters.extensions.ssh.client import SshClient, SshHost
from atoll.adapters.extensions.ssh.identity import SshIdentity
from atoll.adapters.extensions.ssh.machines import OpenSshMachines
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.hosts.host import Host, HostId
from atoll.domain.hosts.reading import read_host_key
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports import CleanupReport, Provision
from atoll.ports.far import FarBox, LinkTerms
from atoll.wire.words.hosts import HostKind
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import FOR_OTHERS, install
from tests.peers.machines.ssh_server import SshServer, missing, ssh_server

SANDBOX = SandboxId("sb_1")
TERMS = LinkTerms(b"k" * 32, 60)


class Known:
    """The hosts as the store has them."""

    def __init__(self) -> None:
        self.hosts: dict[str, SshHost] = {}

    async def find(self) -> Mapping[str, SshHost]:
        return dict(self.hosts)


@pytest.fixture
async def server() -> AsyncIterator[SshServer]:
    if reason := missing():
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    folder.chmod(0o755)
    try:
        with ssh_server(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder)


@pytest.fixture
async def known(server: SshServer, tmp_path: Path) -> Known:
    """One host, `box`, which lets us in."""
    identity = SshIdentity(tmp_path / "ssh", "atoll-test")
    server.authorize(await identity.authorized_line())
    key = read_host_key((server.folder / "host_key.pub").read_text())
    made = Known()
    made.hosts["box"] = SshHost(server.address, key, str(identity.file))
    return made


@pytest.fixture
async def backend(known: Known, tmp_path: Path) -> AsyncIterator[SshBackend]:
    places = SshPlaces(tmp_path / "ssh", tmp_path / "bin")
    made = SshBackend(known.find, places, "atoll-test", machine())
    yield made
    await made.close()


def request(host: str) -> Provision:
    return Provision(SANDBOX, 1, "one", Profile("profile.x", "1.0.0"), host=host)


async def test_backend_needs_hosts_of_ssh(backend: SshBackend) -> None:
    assert backend.capabilities().host_kind is HostKind.SSH


async def test_host_that_is_not_known_is_refused_by_name(backend: SshBackend) -> None:
    for host in ("local", "gone"):
        with pytest.raises(Failed, match=f"host '{host}' is not known"):
            await backend.provision(request(host), TERMS)
        with pytest.raises(Failed, match=f"host '{host}' is not known"):
            await backend.attach(request(host))


async def test_teardown_of_an_interrupted_start_finds_the_host(
    backend: SshBackend, server: SshServer
) -> None:
    assert await backend.attach(request("box")) is None
    files = server.home / ".atoll" / "atoll-test" / "boxes" / SANDBOX
    files.mkdir()
    # No data: the handle of its start was never returned.
    box = FarBox(SANDBOX, 1, (), "box")
    report = await backend.teardown(box, keep_state=False)
    assert report.removed == ("workspace and agent state on host box",)
    assert not files.exists()
    assert await backend.teardown(box, keep_state=False) == CleanupReport()
    assert await backend.teardown(FarBox(SANDBOX, 1), keep_state=False) == CleanupReport()


async def test_files_on_a_forgotten_host_are_told(backend: SshBackend, known: Known) -> None:
    known.hosts.clear()
    report = await backend.teardown(FarBox(SANDBOX, 1, (("host", "box"),)), keep_state=False)
    assert "box, which is not known any more" in report.leftovers[0]


async def test_swapped_key_is_refused_and_a_host_added_anew_is_found(
    backend: SshBackend, known: Known, server: SshServer
) -> None:
    assert await backend.attach(request("box")) is None
    await backend.close()
    server.swap_key()
    with pytest.raises(Failed, match="another key than the one pinned"):
        await backend.attach(request("box"))
    key = read_host_key((server.folder / "host_key.pub").read_text())
    old = known.hosts["box"]
    known.hosts["box"] = SshHost(old.address, key, old.identity)
    assert await backend.attach(request("box")) is None


async def test_look_at_a_host_ends_no_command_of_its_sandboxes(
    known: Known, server: SshServer, tmp_path: Path
) -> None:
    """Both use one shared connection."""
    host = known.hosts["box"]
    client = SshClient("box", host, tmp_path / "ssh")
    began, go = server.home / "began", server.home / "go"
    for fifo in (began, go):
        os.mkfifo(fifo)
        fifo.chmod(0o666)
    script = 'echo >"$1"; cat "$2"'
    install(home := Home(tmp_path))
    async with asyncio.TaskGroup() as tasks:
        command = tasks.create_task(client.run(script, str(began), str(go), seconds=60))
        await asyncio.to_thread(began.read_text)
        machines = OpenSshMachines(
            SshPlaces(tmp_path / "ssh", home.programs / FOR_OTHERS), "atoll-test", machine()
        )
        named = Host(
            HostId("hst_1"), "box", HostKind.SSH, datetime.now(UTC), host.address, host.host_key
        )
        assert (await machines.examine(named)).reachable
        async with asyncio.timeout(30):
            await asyncio.to_thread(go.write_text, "whole")
    await client.close()
    assert command.result().output == b"whole"


async def test_command_that_does_not_end_is_given_up_in_its_time(
    known: Known, server: SshServer, tmp_path: Path
) -> None:
    """The shared connection holds its output until it ends on the machine."""
    client = SshClient("box", known.hosts["box"], tmp_path / "ssh")
    os.mkfifo(never := server.home / "never")
    never.chmod(0o666)
    assert (await client.run("echo up", seconds=30)).output == b"up\n"
    async with asyncio.timeout(30):
        with pytest.raises(Unavailable, match=r"did not answer within 0\.5 s"):
            await client.run('cat "$1"', str(never), seconds=0.5)
    await client.close()


async def test_reason_of_a_host_that_closes_is_one_line(tmp_path: Path) -> None:
    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(close, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        host = SshHost(f"ssh://ada@127.0.0.1:{port}", "ssh-ed25519 AAAA", str(tmp_path / "key"))
        client = SshClient("box", host, tmp_path)
        with pytest.raises(Unavailable, match=r"^host box cannot be reached: \w.*; Conn") as told:
            await client.run(":", seconds=30)
    assert told.value.message.isprintable()
