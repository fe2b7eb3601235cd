import pytest

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.domain.ids import OrgId
from atoll.testing import BusContract, EventSinkContract, FakeEventSink, LiveChannelsContract
from atoll.testing.contracts.bus import wait_woken


class TestInProcessBus(BusContract):
    @pytest.fixture
    async def bus(self) -> InProcessBus:
        return InProcessBus()


class TestInProcessChannels(LiveChannelsContract):
    @pytest.fixture
    async def channels(self) -> InProcessChannels:
        return InProcessChannels(steady=lambda: 0.0)


class TestFakeEventSink(EventSinkContract):
    @pytest.fixture
    async def sink(self) -> FakeEventSink:
        return FakeEventSink()


async def test_listener_that_left_costs_nothing() -> None:
    bus = InProcessBus()
    with bus.listen("a"), bus.listen("a"):
        pass
    assert not bus._flags


async def test_all_listeners_are_woken_when_something_may_have_been_missed() -> None:
    bus = InProcessBus()
    with bus.listen("a") as one, bus.listen() as every:
        bus.announce_all()
        await wait_woken(one)
        await wait_woken(every)


async def test_channel_that_nobody_uses_costs_nothing() -> None:
    now = 0.0
    channels = InProcessChannels(steady=lambda: now)
    with channels.subscribe(OrgId("a"), "x"):
        pass
    assert not channels.keys and not channels._subscriptions
    for number in range(1024):
        channels.publish(OrgId(str(number)), "x", b"")
    now = 60.0
    channels.publish(OrgId("one more"), "x", b"")
    assert len(channels._rates) == 1
