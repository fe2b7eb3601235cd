"""`ext.ssh` against a real sshd, as an ordinary user of another machine would have it."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from platform import machine

import pytest

from atoll.adapters.extensions.ssh.backend import FindHosts, SshBackend
from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.machines import ssh_places
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings, RelocatingExtension
from atoll.domain.errors import Failed, Invalid
from atoll.domain.hosts.host import NOT_TRUSTED
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, Handle, Provision
from atoll.testing.contracts.extensions.extension import ExtensionContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.far.sides import hosts_of, known_host
from tests.peers.machines.ssh_server import missing, throwaway_ssh_server

NOT_HERE = missing() or ("" if os.geteuid() == 0 else "needs root")
pytestmark = pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE)


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        yield running


@pytest.fixture(scope="module")
def find_hosts(rig: ZygoteRig) -> Iterator[FindHosts]:
    with throwaway_ssh_server() as running:
        yield hosts_of(rig.home.root, running)


def made(rig: ZygoteRig, find_hosts: FindHosts) -> LinkedExtension:
    backend = SshBackend(find_hosts, ssh_places(rig.home.root), "test", machine())
    return RelocatingExtension(LinkedSettings(rig.home.root), backend)


class TestSsh(ExtensionContract):
    @pytest.fixture
    async def extension(
        self, rig: ZygoteRig, find_hosts: FindHosts
    ) -> AsyncIterator[LinkedExtension]:
        extension = made(rig, find_hosts)
        yield extension
        await extension.close()

    def request(self, generation: int = 1, sandbox_id: SandboxId | None = None) -> Provision:
        return replace(super().request(generation, sandbox_id), host="box")

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, LinkedExtension)
        answer = await extension._link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)

    async def test_provision_of_an_image_is_refused(self, extension: LinkedExtension) -> None:
        request = replace(self.request(), profile=Profile("p", "1", image="debian"))
        with pytest.raises(Invalid, match="image"):
            await extension.provision(request)


async def test_changed_host_key_is_refused_and_nothing_is_sent(rig: ZygoteRig) -> None:
    with throwaway_ssh_server() as box:
        known = {"box": await known_host(rig.home.root, box)}

        async def find() -> Mapping[str, SshHost]:
            return known

        extension = made(rig, find)
        box.swap_key()
        with pytest.raises(Failed, match="another key"):
            await extension.provision(TestSsh().request())
        assert not (box.home / ".atoll").exists()
        with pytest.raises(Failed) as found:
            handle = Handle(TestSsh().request().sandbox_id, 1, extension.name, host="box")
            await extension.teardown(handle, keep_state=False)
        assert found.value.code == NOT_TRUSTED
        await extension.close()


async def test_key_that_changes_while_a_sandbox_starts_is_told_at_once(rig: ZygoteRig) -> None:
    with throwaway_ssh_server() as box:
        known = {"box": await known_host(rig.home.root, box)}

        async def find() -> Mapping[str, SshHost]:
            return known

        extension = made(rig, find)
        one = await extension.provision(TestSsh().request())
        await extension.wait_ready(one)
        # The connection that is shared for commands goes on; a link has one of its own.
        box.swap_key()
        other = await extension.provision(TestSsh().request())
        async with asyncio.timeout(30):
            with pytest.raises(
                Failed, match="then: host box shows another key than the one pinned"
            ):
                await extension.wait_ready(other)
        for handle in (one, other):
            await extension.teardown(handle, keep_state=False)
        await extension.close()


@pytest.mark.parametrize(
    ("boot", "why"),
    [
        (None, "host box: the link there ended, and every program with it"),
        ("another", "host box: that machine was started anew"),
    ],
)
async def test_end_of_the_far_link_is_reported_with_its_reason(
    rig: ZygoteRig, boot: str | None, why: str
) -> None:
    """At the next try to carry it, long before the runtime's patience is over."""
    with throwaway_ssh_server() as box:
        known = {"box": await known_host(rig.home.root, box)}

        async def find() -> Mapping[str, SshHost]:
            return known

        extension = made(rig, find)
        handle = await extension.provision(TestSsh().request())
        await extension.wait_ready(handle)
        (files,) = box.home.glob(f".atoll/*/boxes/{handle.sandbox_id}")
        if boot is not None:
            (files / "boot").write_text(boot)
        os.kill(int((files / "pid").read_text()), signal.SIGKILL)
        async with asyncio.timeout(30):
            ended = await anext(extension.ended())
        assert (ended.sandbox_id, ended.reason) == (handle.sandbox_id, why)
        again = TestSsh().request(2, handle.sandbox_id)
        await extension.wait_ready(second := await extension.provision(again))
        await extension.teardown(second, keep_state=False)
        await extension.close()


async def test_why_a_machine_is_not_reached_is_known_while_its_sandbox_lives(
    rig: ZygoteRig,
) -> None:
    with throwaway_ssh_server() as box:
        known = {"box": await known_host(rig.home.root, box)}

        async def find() -> Mapping[str, SshHost]:
            return known

        extension = made(rig, find)
        handle = await extension.provision(TestSsh().request())
        await extension.wait_ready(handle)
        assert extension.trouble_of(handle.sandbox_id) is None

        async def trouble(words: str) -> None:
            async with asyncio.timeout(60):
                while words not in (extension.trouble_of(handle.sandbox_id) or ""):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)

        box.stop()
        subprocess.run(["pkill", "-KILL", "-x", "sshd", "-U", str(box.uid)], check=False)
        await trouble("host box cannot be reached")
        box.start()
        async with asyncio.timeout(60):
            while extension.trouble_of(handle.sandbox_id) is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        box.stop()
        subprocess.run(["pkill", "-KILL", "-x", "sshd", "-U", str(box.uid)], check=False)
        await trouble("host box cannot be reached")
        box.swap_key()
        await trouble("another key than the one pinned")
        assert [each.sandbox_id for each in await extension.survey()] == [handle.sandbox_id]
        # Trusted anew while its sandbox stands there.
        known["box"] = await known_host(rig.home.root, box)
        await extension.teardown(handle, keep_state=False)
        await extension.close()
