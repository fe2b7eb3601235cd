"""The Spawner contract on a rented machine: the near end here, bwrap, init and link there, and
between them terminals of Daytona's library."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from atoll.adapters.extensions.daytona.entry import make
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.adapters.extensions.rented_stage import spawner_there
from tests.peers.clouds.daytona import KEY, DaytonaPeer, daytona_peer
from tests.peers.clouds.machine import missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def peer() -> Iterator[DaytonaPeer]:
    with daytona_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


@pytest.fixture
async def spawner(peer: DaytonaPeer) -> AsyncIterator[InitSpawner]:
    options: dict[str, object] = {"daytona": {"api_url": peer.url}}
    async with spawner_there(make, options, keys) as made:
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestRentedSpawner(SpawnerContract):
    """The contract, on a rented machine."""
