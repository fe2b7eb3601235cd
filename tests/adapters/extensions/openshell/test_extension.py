"""`ext.openshell` against a peer on OpenShell's own wheel: the contract of every extension, and of
what is reached there."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.openshell.entry import make
from atoll.adapters.linked.extension import LinkedExtension
from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, ExtensionSetup, Handle, VendorKey
from atoll.testing.contracts.reachable import AGENT, Another, ReachableContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.clouds.machine import missing
from tests.peers.clouds.openshell import KEY, OpenShellPeer, openshell_peer

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        yield running


@pytest.fixture(scope="module")
def peer() -> Iterator[OpenShellPeer]:
    with openshell_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


def options_of(peer: OpenShellPeer) -> dict[str, object]:
    return {"gateway": peer.url, "images": {"host": "registry.example/atoll:1"}}


def made(rig: ZygoteRig, peer: OpenShellPeer) -> LinkedExtension:
    options = {"openshell": options_of(peer)}
    return make(
        ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,), options=options, keys=keys)
    )


class TestOpenShell(ReachableContract):
    @pytest.fixture
    def another(self, rig: ZygoteRig, peer: OpenShellPeer) -> Another:
        self.root = rig.home.root
        return lambda: made(rig, peer)

    def home_in(self, folder: Path) -> Path:
        return self.root

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, LinkedExtension)
        answer = await extension._link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)

    async def test_provision_of_an_image_without_a_template_is_refused(
        self, extension: LinkedExtension
    ) -> None:
        request = replace(self.request(), profile=Profile("p", "1", image="debian"))
        with pytest.raises(Invalid, match="template"):
            await extension.provision(request)
