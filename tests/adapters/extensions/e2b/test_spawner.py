"""The Spawner contract on a rented machine: the near end here, bwrap, init and link there, and
between them the process calls of E2B's library."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from atoll.adapters.extensions.e2b.entry import make
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.adapters.extensions.rented_stage import spawner_there
from tests.peers.clouds.e2b import KEY, E2bPeer, e2b_peer
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def peer() -> Iterator[E2bPeer]:
    with e2b_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


@pytest.fixture
async def spawner(peer: E2bPeer) -> AsyncIterator[InitSpawner]:
    options: dict[str, object] = {"e2b": {"api_url": peer.url, "sandbox_url": peer.url}}
    async with spawner_there(make, options, keys) as made:
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestRentedSpawner(SpawnerContract):
    """The contract, on a rented machine."""
