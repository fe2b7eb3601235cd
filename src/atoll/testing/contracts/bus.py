"""The contract of a Bus.

Subclass `BusContract` in a test module and give it the fixture `bus`.
"""

import asyncio

import pytest

from atoll.ports.bus import Bus, Listener

QUIET_SECONDS = 0.05
PATIENCE_SECONDS = 5.0


async def woken(listener: Listener, seconds: float = PATIENCE_SECONDS) -> None:
    """Return once the listener is woken. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        await listener.wait()


class BusContract:
    """Contract of a bus: no announcement is lost between listening and waiting; many of them wake
    once."""

    async def test_listener_is_woken_by_its_stream_and_one_of_all_by_each(self, bus: Bus) -> None:
        with bus.listen("a") as one, bus.listen() as every:
            bus.announce(("b",))
            await woken(every)
            with pytest.raises(TimeoutError):
                await woken(one, QUIET_SECONDS)
            bus.announce(("a", "b"))
            await woken(one)
            await woken(every)

    async def test_announcement_before_waiting_is_not_lost_and_many_are_one(self, bus: Bus) -> None:
        with bus.listen("a") as one:
            for _ in range(100):
                bus.announce(("a",))
            await woken(one)
            with pytest.raises(TimeoutError):
                await woken(one, QUIET_SECONDS)

    async def test_announcement_without_a_listener_is_forgotten(self, bus: Bus) -> None:
        bus.announce(("a",))
        with bus.listen("a") as one:
            with pytest.raises(TimeoutError):
                await woken(one, QUIET_SECONDS)
            bus.announce(iter(("a",)))
            await woken(one)

    async def test_each_listener_of_a_stream_is_woken(self, bus: Bus) -> None:
        with bus.listen("a") as one, bus.listen("a") as two:
            bus.announce(("a",))
            await woken(one)
            await woken(two)

    async def test_cancelled_wait_loses_no_announcement(self, bus: Bus) -> None:
        with bus.listen("a") as one:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(one.wait())
                await asyncio.sleep(0)
                waiting.cancel()
            bus.announce(("a",))
            await woken(one)

    @pytest.mark.parametrize("name", ["", "*", "a:b", "a\0", "x" * 5000])
    async def test_name_is_only_itself(self, bus: Bus, name: str) -> None:
        with bus.listen(name) as odd, bus.listen("a") as plain:
            bus.announce(("a",))
            await woken(plain)
            with pytest.raises(TimeoutError):
                await woken(odd, QUIET_SECONDS)
            bus.announce((name,))
            await woken(odd)
            with pytest.raises(TimeoutError):
                await woken(plain, QUIET_SECONDS)
