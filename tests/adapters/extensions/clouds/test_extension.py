"""Each cloud against its peer: the contract of every extension, and of what is reached there."""

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atoll.adapters.linked.extension import LinkedExtension
from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import Extension, ExtensionSetup, Handle, VendorKey
from atoll.testing.contracts.extensions.reachable import AGENT, Another, ReachableContract
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.peers.clouds.cloud import CLOUDS, OPENSHELL, Cloud, each


@pytest.fixture(scope="module", params=each(*CLOUDS, OPENSHELL))
def cloud(request: pytest.FixtureRequest) -> Cloud:
    found: Cloud = request.param
    return found


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(real=True) as running:
        yield running


@pytest.fixture(scope="module")
def peer(cloud: Cloud) -> Iterator[Any]:
    with cloud.serve() as running:
        yield running


class TestRented(ReachableContract):
    @pytest.fixture
    def another(self, rig: ZygoteRig, cloud: Cloud, peer: Any) -> Another:
        self.root = rig.home.root

        async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
            return (VendorKey("sec_vendor", cloud.key),)

        options = cloud.options(peer)
        setup = ExtensionSetup(self.root, "atoll-test", agents=(AGENT,), options=options, keys=keys)
        return lambda: cloud.make(setup)

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
