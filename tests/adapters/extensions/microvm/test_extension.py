"""`ext.microvm` in real machines: the contract of every extension, and of what is reached there."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.microvm.entry import make
from atoll.adapters.linked.extension import LinkedExtension
from atoll.domain.errors import Failed, Invalid
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, ExtensionSetup, Handle
from atoll.testing.contracts.extensions.reachable import AGENT, Another, ReachableContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.machines.microvm import home_with_image, missing

booted = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        home_with_image(running.home.root)
        yield running


class TestMicrovm(ReachableContract):
    pytestmark = booted

    @pytest.fixture
    def another(self, rig: ZygoteRig) -> Another:
        self.root = rig.home.root
        return lambda: make(ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,)))

    def home_in(self, folder: Path) -> Path:
        return self.root

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


def test_extension_without_an_image_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"atoll vm build|qemu|e2fsprogs"):
        make(ExtensionSetup(tmp_path, "atoll-test")).capabilities()
