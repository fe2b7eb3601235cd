import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.testing import BusContract


class TestInProcessBus(BusContract):
    @pytest.fixture
    async def bus(self) -> InProcessBus:
        return InProcessBus()


async def test_listener_that_left_costs_nothing() -> None:
    bus = InProcessBus()
    with bus.listen("a"), bus.listen("a"):
        pass
    assert not bus._flags
