"""Folders of the host's in a container, while somebody exchanges them for links to its root."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from asyncio import to_thread
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.docker.containers import Containers
from atoll.adapters.extensions.docker.extension import Docker, Settings
from atoll.domain.errors import AtollError, Failed, Forbidden, Invalid
from atoll.domain.files.host_mount import HostMount
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.domain.wall.resources import Resources
from atoll.ports.extension import Provision
from atoll.ports.host import Finding
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from atoll.wiring.doctor import docker_host
from tests.peers.docker_daemon import IMAGE, DockerDaemon, docker_daemon, why_not

pytestmark = [
    pytest.mark.docker,
    pytest.mark.root,
    pytest.mark.skipif(bool(why_not()), reason=f"no Docker daemon: {why_not()}"),
]

GRANT = "0123456789abcdef" * 2
PROFILE = Profile(
    "profile.mounts", "1", "ext.docker", IMAGE, resources=Resources(memory_mb=128, workspace_mb=16)
)
EXCHANGE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
folder, link = (os.fsencode(word) for word in sys.argv[1:])
while os.getppid() == int(os.environ["PARENT"]):
    libc.renameat2(-100, folder, -100, link, 2)
"""
"""What a second sandbox that may write the parent would do, for as long as the test lives."""

STARTS = 12


@pytest.fixture(scope="module")
def daemon() -> Iterator[DockerDaemon]:
    with docker_daemon() as running:
        yield running


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig() as running:
        running.home.grants.mkdir(mode=0o755)
        yield running


@pytest.fixture
def docker(rig: ZygoteRig, daemon: DockerDaemon) -> Docker:
    return Docker(Settings(rig.home.socket, rig.home.tag, rig.home.root / "images", daemon.host))


@pytest.fixture
def data() -> Iterator[Path]:
    """A folder with a file, and beside it a link to the machine's root."""
    top = Path(tempfile.mkdtemp(prefix="atm", dir="/tmp"))
    (top / "d").mkdir()
    (top / "d" / "f").write_text("of the folder")
    (top / "link").symlink_to("/")
    yield top / "d"
    shutil.rmtree(top)


def exchange(data: Path) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    link = data.parent / "link"
    assert libc.renameat2(-100, bytes(data), -100, bytes(link), 2) == 0, ctypes.get_errno()


def mounting(rig: ZygoteRig, name: str, data: Path, *, writable: bool = False) -> Provision:
    note = rig.home.grants / GRANT
    note.write_text(json.dumps({"source": str(data), "writable": writable}))
    note.chmod(0o644)
    mount = HostMount(str(data), "/mnt/in", writable, GRANT)
    return Provision(SandboxId(name), 1, "mounts", PROFILE, host_mounts=(mount,))


def box_of(rig: ZygoteRig, name: str) -> wire.Box:
    listed = rig.ask(wire.ListBoxes())
    assert isinstance(listed, wire.Listed)
    return next(each for each in listed.boxes if each.sandbox_id == name)


def shell(rig: ZygoteRig, name: str, line: str) -> str:
    return rig.inside(box_of(rig, name), "/bin/sh", "-c", line)[1].strip()


async def end(docker: Docker, request: Provision) -> None:
    handles = [each for each in await docker.survey() if each.sandbox_id == request.sandbox_id]
    for handle in handles:
        await docker.teardown(handle, keep_state=False)


def nothing_is_lent(rig: ZygoteRig) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    return (
        list(rig.home.engine_mounts.iterdir()) == [] and str(rig.home.engine_mounts) not in mounts
    )


async def test_folder_that_becomes_a_link_before_the_daemon_binds_it_stays_the_folder(
    rig: ZygoteRig, docker: Docker, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = Containers.run

    async def run(self: Containers, sandbox_id: str, generation: int, *, body: bytes) -> None:
        exchange(data)
        # What the daemon would have been given, and would have followed: the machine's root.
        assert os.path.samestat(data.stat(), Path("/").stat())
        await ran(self, sandbox_id, generation, body=body)

    monkeypatch.setattr(Containers, "run", run)
    request = mounting(rig, "sb_swapped", data)
    await docker.provision(request)
    assert shell(rig, "sb_swapped", "ls /mnt/in; cat /mnt/in/f") == "f\nof the folder"
    assert nothing_is_lent(rig)
    await end(docker, request)
    await docker.close()


async def test_folder_exchanged_without_end_is_never_the_machine_s_root(
    rig: ZygoteRig, docker: Docker, data: Path
) -> None:
    env = {"PARENT": str(os.getpid())}
    words = [sys.executable, "-c", EXCHANGE, str(data), str(data.parent / "link")]
    swapper = subprocess.Popen(words, env=env)
    seen, refused = 0, 0
    try:
        for number in range(STARTS):
            request = mounting(rig, f"sb_race{number}", data)
            try:
                await docker.provision(request)
            except Invalid as err:
                assert "link" in err.message or "folder" in err.message
                refused += 1
                continue
            assert shell(rig, request.sandbox_id, "ls -A /mnt/in") == "f"
            seen += 1
            await end(docker, request)
    finally:
        swapper.kill()
        swapper.wait()
    assert seen + refused == STARTS
    assert nothing_is_lent(rig)
    await docker.close()


async def test_daemon_that_shows_another_folder_is_refused(
    rig: ZygoteRig, docker: Docker, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = Containers.run

    async def run(self: Containers, sandbox_id: str, generation: int, *, body: bytes) -> None:
        asked = json.loads(body)
        bind = next(it for it in asked["HostConfig"]["Mounts"] if it["Target"] == "/mnt/in")
        bind["Source"] = str(data.parent)
        await ran(self, sandbox_id, generation, body=json.dumps(asked).encode())

    monkeypatch.setattr(Containers, "run", run)
    request = mounting(rig, "sb_other", data)
    with pytest.raises(Failed, match="another folder at /mnt/in"):
        await docker.provision(request)
    assert nothing_is_lent(rig)
    await docker.close()


async def test_daemon_with_mounts_of_its_own_gets_no_sandbox_and_doctor_says_so(
    rig: ZygoteRig, data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It sees neither the sandbox's files nor folders of the host's that were opened for it."""
    (tmp_path / "config.toml").write_text('extensions = ["docker"]\n')
    with docker_daemon("unshare", "-m") as apart:
        settings = Settings(rig.home.socket, rig.home.tag, rig.home.root / "images", apart.host)
        docker = Docker(settings)
        for request in (
            Provision(SandboxId("sb_apart"), 1, "apart", PROFILE),
            mounting(rig, "sb_apart_too", data),
        ):
            with pytest.raises(Failed, match="mounts of this machine"):
                await docker.provision(request)
        assert apart.containers() == []
        assert nothing_is_lent(rig)
        await docker.close()
        monkeypatch.setenv("ATOLL_DOCKER_HOST", apart.host)
        told = {each.name: each for each in await to_thread(findings_of, tmp_path)}
        assert told["docker mounts"].level == "warn"


async def test_control_daemon_among_the_machine_s_mounts_is_not_warned_of(
    daemon: DockerDaemon, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('extensions = ["docker"]\n')
    monkeypatch.setenv("ATOLL_DOCKER_HOST", daemon.host)
    assert "docker mounts" not in {each.name for each in await to_thread(findings_of, tmp_path)}


def findings_of(home: Path) -> list[Finding]:
    return list(docker_host.findings(home))


async def test_mount_holds_no_devices_and_no_setuid_nor_do_those_below_it(
    rig: ZygoteRig, docker: Docker, data: Path
) -> None:
    below = data / "below"
    below.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "below", str(below)], check=True)
    try:
        for name, writable in (("sb_ro", False), ("sb_rw", True)):
            request = mounting(rig, name, data, writable=writable)
            await docker.provision(request)
            lines = shell(rig, name, "grep /mnt/in /proc/self/mounts").splitlines()
            options = {line.split()[1]: set(line.split()[3].split(",")) for line in lines}
            wanted = {"nosuid", "nodev", "rw" if writable else "ro"}
            assert options.keys() == {"/mnt/in", "/mnt/in/below"}
            assert all(wanted <= each for each in options.values()), options
            assert "shared:" not in shell(rig, name, "grep /mnt/in /proc/self/mountinfo")
            await end(docker, request)
    finally:
        subprocess.run(["umount", str(below)], check=True)
    await docker.close()


async def test_folder_that_holds_keys_is_not_given_to_a_container(
    rig: ZygoteRig, docker: Docker, data: Path
) -> None:
    (data / "id_ed25519").write_text("a key")
    request = mounting(rig, "sb_keyed", data)
    with pytest.raises(Forbidden, match="holds id_ed25519"):
        await docker.provision(request)
    assert nothing_is_lent(rig)
    note = rig.home.grants / GRANT
    note.write_text(json.dumps({"source": str(data), "private": True}))
    agreed = replace(request.host_mounts[0], private=True)
    await docker.provision(replace(request, host_mounts=(agreed,)))
    assert shell(rig, "sb_keyed", "cat /mnt/in/id_ed25519") == "a key", "the attack is a real one"
    await end(docker, request)
    await docker.close()


async def test_start_that_fails_leaves_nothing_lent(
    rig: ZygoteRig, docker: Docker, data: Path
) -> None:
    request = mounting(rig, "sb_failing", data)
    image = replace(PROFILE, resources=Resources(memory_mb=128, workspace_mb=16, cpu=100_000))
    with pytest.raises(AtollError):
        await docker.provision(replace(request, profile=image))
    assert nothing_is_lent(rig)
    await docker.close()


def test_zygote_killed_while_a_folder_is_lent_clears_up_at_its_next_start(data: Path) -> None:
    home = Path(tempfile.mkdtemp(prefix="at", dir="/tmp"))
    try:
        with zygote_rig(home=home) as first:
            first.home.grants.mkdir(mode=0o755)
            wanted = mounting(first, "sb_lost", data).host_mounts[0]
            mount = wire.HostMount(wanted.source, wanted.target, grant=GRANT)
            start = wire.Start("sb_lost", 1, "box", mounts=(mount,))
            awaited = first.ask(wire.Serve(start, seconds=60))
            assert isinstance(awaited, wire.Awaited)
            (lent,) = map(Path, awaited.folders)
            assert (lent / "f").read_text() == "of the folder"
            assert lent.is_relative_to(first.home.engine_mounts)
            assert first.home.engine_mounts.stat().st_mode & 0o077 == 0
            first.process.kill()
            first.process.wait()
        assert lent.is_mount()
        with zygote_rig(home=home) as second:
            assert nothing_is_lent(second)
            assert isinstance(second.ask(wire.Destroy("sb_lost")), wire.Cleaned)
        assert (data / "f").read_text() == "of the folder"
    finally:
        assert str(home) not in Path("/proc/self/mountinfo").read_text()
        shutil.rmtree(home)
