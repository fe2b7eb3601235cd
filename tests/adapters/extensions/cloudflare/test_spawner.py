"""The Spawner contract on a rented machine: the near end here, bwrap, init and link there, and
between them terminals of the bridge of Cloudflare, in armour."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from atoll.adapters.extensions.cloudflare.entry import make
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.adapters.extensions.rented_stage import spawner_there
from tests.peers.clouds.cloudflare import KEY, CloudflarePeer, cloudflare_peer, lacking

pytestmark = pytest.mark.skipif(bool(lacking()), reason=str(lacking()))


@pytest.fixture(scope="module")
def peer() -> Iterator[CloudflarePeer]:
    with cloudflare_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


@pytest.fixture
async def spawner(peer: CloudflarePeer) -> AsyncIterator[InitSpawner]:
    options: dict[str, object] = {"cloudflare": {"url": peer.url}}
    async with spawner_there(make, options, keys) as made:
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestRentedSpawner(SpawnerContract):
    """The contract, on a rented machine."""
