from datetime import timedelta

import pytest

from atoll.adapters.clocks import SystemClock
from atoll.ports import Clock
from atoll.testing import ClockContract
from atoll.testing.fakes.clock import VirtualClock


class TestSystemClock(ClockContract):
    @pytest.fixture
    def clock(self) -> SystemClock:
        return SystemClock()


class TestVirtualClock(ClockContract):
    @pytest.fixture
    def clock(self) -> VirtualClock:
        return VirtualClock()

    def turn(self, clock: Clock, by: timedelta) -> None:
        assert isinstance(clock, VirtualClock)
        clock.turn(by.total_seconds())
