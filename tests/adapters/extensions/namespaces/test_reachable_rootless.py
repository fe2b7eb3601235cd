"""`ext.namespaces` without root, with real runtimes: what it promises of snapshots is tried."""

import os
from collections.abc import Iterator

import pytest

from atoll.adapters.extensions.namespaces.extension import Namespaces
from atoll.domain.snapshots.promise import SnapshotPromise
from atoll.ports.extension import Extension
from atoll.testing.zygote_rig import ZygoteRig, zygote_rig
from atoll.wire.words.sandboxes import DiskPromise
from tests.adapters.extensions.namespaces import test_reachable
from tests.claims import claim_person


@pytest.fixture(scope="module", params=["shared", "subordinates"])
def rig(request: pytest.FixtureRequest) -> Iterator[ZygoteRig]:
    if os.geteuid() != 0:
        pytest.skip("the usual tests have no root then")
    subordinates = request.param == "subordinates"
    with zygote_rig(claim_person(), real=True, subordinates=subordinates) as running:
        yield running


class TestNamespacesReachedWithoutRoot(test_reachable.TestNamespacesReached):
    async def test_promise_is_of_files_as_they_were_at_one_moment(
        self, extension: Extension
    ) -> None:
        assert isinstance(extension, Namespaces)
        await extension.examine()
        assert extension.capabilities().snapshots == SnapshotPromise(DiskPromise.CRASH)
