import asyncio

import pytest

from atoll.adapters.bus.in_process import InProcessBus


async def test_listener_hears_its_stream_and_all_hear_everything() -> None:
    bus = InProcessBus()
    with bus.listen("a") as one, bus.listen() as every:
        bus.announce(("b",))
        await every.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await one.wait()
        bus.announce(("a", "b"))
        await one.wait()
        await every.wait()


async def test_announcement_before_waiting_is_not_lost_and_many_are_one() -> None:
    bus = InProcessBus()
    with bus.listen("a") as one:
        for _ in range(100):
            bus.announce(("a",))
        await one.wait()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await one.wait()


async def test_listener_that_left_costs_nothing() -> None:
    bus = InProcessBus()
    with bus.listen("a"), bus.listen("a"):
        pass
    assert not bus._flags
