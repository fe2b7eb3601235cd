"""`ext.namespaces` with real runtimes: the tier that uses the address."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from atoll.adapters.extensions.namespaces.extension import Namespaces, make
from atoll.ports.extension import Extension, ExtensionSetup, Handle
from atoll.testing import KeepsPoolsContract, KeepsSnapshotsContract
from atoll.testing.contracts.extensions.reachable import AGENT, Another
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid(), real=True) as running:
        yield running


class TestNamespacesReached(KeepsSnapshotsContract, KeepsPoolsContract):
    @pytest.fixture
    def another(self, rig: ZygoteRig) -> Another:
        self.home = rig.home.root
        setup = ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,))
        return lambda: made_in(setup)

    def home_in(self, folder: Path) -> Path:
        return self.home

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, Namespaces)
        answer = await extension._link.request(wire.ListBoxes(), seconds=5)
        assert isinstance(answer, wire.Listed)
        pid = next(b.runtime_pid for b in answer.boxes if b.sandbox_id == handle.sandbox_id)
        os.kill(pid, signal.SIGKILL)


def made_in(setup: ExtensionSetup) -> Namespaces:
    return make(setup)
