"""The Spawner contract under a policy of OpenShell: the near end here, init and link there, and
between them `ExecSandboxInteractive`."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from atoll.adapters.extensions.openshell.entry import make
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.adapters.extensions.rented_stage import spawner_there
from tests.peers.clouds.machine import missing
from tests.peers.clouds.openshell import KEY, OpenShellPeer, openshell_peer

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def peer() -> Iterator[OpenShellPeer]:
    with openshell_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


@pytest.fixture
async def spawner(peer: OpenShellPeer) -> AsyncIterator[InitSpawner]:
    options: dict[str, object] = {
        "openshell": {"gateway": peer.url, "images": {"host": "registry.example/atoll:1"}}
    }
    async with spawner_there(make, options, keys) as made:
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestPolicySpawner(SpawnerContract):
    """The contract, under a policy."""
