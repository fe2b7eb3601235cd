"""`ext.ssh` against a real sshd, as an ordinary user of another machine would have it."""

import os
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from atoll.adapters.extensions.ssh.backend import SshBackend, SshPlaces
from atoll.adapters.extensions.ssh.settings import SshHost
from atoll.adapters.linked.extension import LinkedExtension, LinkedSettings
from atoll.domain.errors import Failed, Invalid
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, Handle, Provision
from atoll.testing.contracts.extension import ExtensionContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.machines.sshd import Sshd, missing, sshd

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        yield running


@pytest.fixture(scope="module")
def box() -> Iterator[Sshd]:
    with sshd() as running:
        yield running


def made(rig: ZygoteRig, box: Sshd) -> LinkedExtension:
    host = SshHost(box.address, box.host_key, str(box.identity))
    places = SshPlaces(rig.home.root / "ssh", rig.home.programs / "far.tar")
    backend = SshBackend({"box": host}, places, "test", os.uname().machine)
    return LinkedExtension(LinkedSettings(rig.home.root), backend)


class TestSsh(ExtensionContract):
    @pytest.fixture
    async def extension(self, rig: ZygoteRig, box: Sshd) -> AsyncIterator[LinkedExtension]:
        extension = made(rig, box)
        yield extension
        await extension.close()

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, LinkedExtension)
        answer = await extension._link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)

    async def test_provision_of_an_image_is_refused(self, extension: LinkedExtension) -> None:
        request = Provision(self.request().sandbox_id, 1, "x", Profile("p", "1", image="debian"))
        with pytest.raises(Invalid, match="image"):
            await extension.provision(request)


async def test_changed_host_key_is_refused_and_nothing_is_sent(rig: ZygoteRig) -> None:
    with sshd() as box:
        extension = made(rig, box)
        box.restart(new_key=True)
        with pytest.raises(Failed, match="another key"):
            await extension.provision(TestSsh().request())
        assert not (box.home / ".atoll").exists()
        await extension.close()
