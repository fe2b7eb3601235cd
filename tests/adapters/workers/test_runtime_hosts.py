"""The suite of worker hosts on this machine's own wall and on a pod's runtime over TCP."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from atoll.adapters.extensions.namespaces.extension import make
from atoll.ports.extension import ExtensionSetup
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.zygote import messages as wire
from tests.adapters.workers.runtime_stage import (
    CODEX,
    RuntimeHostContract,
    RuntimeStage,
    runtime_stage,
)


@pytest.fixture(scope="module")
def rig() -> Iterator[ZygoteRig]:
    with zygote_rig(os.geteuid(), real=True) as running:
        yield running


class TestNamespaces(RuntimeHostContract):
    @pytest.fixture
    async def stage(self, rig: ZygoteRig, tmp_path: Path) -> AsyncIterator[RuntimeStage]:
        self.rig = rig
        extension = make(ExtensionSetup(rig.home.root, "atoll-test", agents=(CODEX,)))
        async with runtime_stage(tmp_path, extension) as found:
            yield found
        await extension.close()

    async def kill_runtime(self, sandbox_id: str) -> None:
        answer = self.rig.ask(wire.ListBoxes())
        assert isinstance(answer, wire.Listed)
        (box,) = [one for one in answer.boxes if one.sandbox_id == sandbox_id]
        os.kill(box.runtime_pid, signal.SIGKILL)
