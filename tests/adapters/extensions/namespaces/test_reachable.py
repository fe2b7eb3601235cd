"""`ext.namespaces` with real runtimes: the tier that uses the address."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from atoll.adapters.extensions.namespaces.extension import Namespaces, make
from atoll.adapters.zygote.snapshot_disks import ZygoteSnapshotDisks
from atoll.domain.ids import SnapshotId
from atoll.ports.extension import Extension, ExtensionSetup, Handle
from atoll.testing import KeepsPoolsContract, KeepsSnapshotsContract
from atoll.testing.contracts.extensions.reachable import AGENT, Another
from atoll.testing.contracts.extensions.snapshots import OtherHost
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
        self.disks = rig.home.socket
        setup = ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,), contents_shared=True)
        return lambda: made_in(setup)

    @asynccontextmanager
    async def other_host(self) -> AsyncIterator[OtherHost]:
        with zygote_rig(os.geteuid(), real=True) as rig, TemporaryDirectory() as folder:
            setup = ExtensionSetup(rig.home.root, "atoll-test", agents=(AGENT,))
            here, there = ZygoteSnapshotDisks(self.disks), ZygoteSnapshotDisks(rig.home.socket)

            async def bring(snapshot: SnapshotId) -> None:
                lent = await here.lend(snapshot)
                image = Path(folder) / snapshot
                image.write_bytes(lent.path.read_bytes())
                await there.admit(snapshot, image, lent.uid)
                await here.end_loan(snapshot)

            extension = made_in(setup)
            try:
                yield OtherHost(extension, bring)
            finally:
                for one in (extension, here, there):
                    await one.close()

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
