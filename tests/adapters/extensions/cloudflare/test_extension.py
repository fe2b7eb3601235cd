"""`ext.cloudflare` against the bridge of Cloudflare: the contract of every extension."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.cloudflare.entry import make
from atoll.adapters.linked.extension import LinkedExtension
from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, ExtensionSetup, Handle, VendorKey
from atoll.testing.contracts.reachable import AGENT, Another, ReachableContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.clouds.cloudflare import KEY, CloudflarePeer, cloudflare_peer, lacking

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        yield running


@pytest.fixture(scope="module")
def peer() -> Iterator[CloudflarePeer]:
    with cloudflare_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


def made(rig: ZygoteRig, peer: CloudflarePeer) -> LinkedExtension:
    options = {"cloudflare": {"url": peer.url}}
    return make(
        ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,), options=options, keys=keys)
    )


class TestCloudflare(ReachableContract):
    @pytest.fixture
    def another(self, rig: ZygoteRig, peer: CloudflarePeer) -> Another:
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
