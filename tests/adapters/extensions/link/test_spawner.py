"""The Spawner contract on each kind of foreign machine, over its link."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from atoll.runtime.spawners.init import InitSpawner
from atoll.testing.contracts.spawner import SpawnerContract
from tests.peers.far.sandbox import KeptSandbox

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
CLOSES = "test_close_ends_everything_inside"


class TestFarSpawner(SpawnerContract):
    """The contract, on a foreign machine."""

    @pytest_asyncio.fixture(loop_scope="module")
    async def spawner(
        self, kept: KeptSandbox, request: pytest.FixtureRequest
    ) -> AsyncIterator[InitSpawner]:
        async with kept.empty() as sandbox:
            yield sandbox.spawner
            if request.function.__name__ == CLOSES:
                await kept.close()

    @pytest.fixture
    def inside(self, spawner: InitSpawner) -> str:
        return spawner.root
