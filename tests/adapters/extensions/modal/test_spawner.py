"""The Spawner contract on a rented machine: the near end here, bwrap, init and link there, and
between them the process calls of Modal's library."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest

from atoll.adapters.extensions.modal.entry import make
from atoll.domain.ids import SandboxId
from atoll.ports.extension import VendorKey
from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.adapters.extensions.rented_stage import spawner_there
from tests.peers.clouds.machine import missing
from tests.peers.clouds.modal import KEY, ModalPeer, modal_peer

pytestmark = pytest.mark.skipif(bool(missing()), reason=str(missing()))


@pytest.fixture(scope="module")
def peer() -> Iterator[ModalPeer]:
    with modal_peer() as running:
        yield running


async def keys(_extension: str, _sandbox: SandboxId | None) -> Sequence[VendorKey]:
    return (VendorKey("sec_vendor", KEY),)


@pytest.fixture
async def spawner(peer: ModalPeer) -> AsyncIterator[InitSpawner]:
    options: dict[str, object] = {"modal": {"server_url": peer.url}}
    async with spawner_there(make, options, keys) as made:
        yield made


@pytest.fixture
def inside(spawner: InitSpawner) -> str:
    return spawner.root


class TestRentedSpawner(SpawnerContract):
    """The contract, on a rented machine."""
