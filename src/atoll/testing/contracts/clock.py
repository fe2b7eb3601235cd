"""The contract of a Clock.

Subclass `ClockContract` in a test module, give it the fixture `clock`, and override `turn` where
the clock's time does not pass by itself.
"""

import asyncio
from datetime import timedelta

import pytest

from atoll.ports.clock import Clock

STEP = timedelta(milliseconds=20)


class ClockContract:
    """Time is in UTC, and a wait ends at its deadline and not before."""

    def turn(self, clock: Clock, by: timedelta) -> None:
        """Let time pass. A clock of the host needs nothing."""

    async def test_now_is_in_utc(self, clock: Clock) -> None:
        assert clock.now().utcoffset() == timedelta(0)

    async def test_wait_ends_at_its_deadline_and_not_before(self, clock: Clock) -> None:
        deadline = clock.now() + STEP
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(clock.sleep_until(deadline))
            await asyncio.sleep(0)
            assert not waiting.done()
            self.turn(clock, STEP)
        assert clock.now() >= deadline

    async def test_wait_for_the_past_returns(self, clock: Clock) -> None:
        await clock.sleep_until(clock.now() - STEP)

    async def test_wait_can_be_cancelled(self, clock: Clock) -> None:
        waiting = asyncio.timeout(0.01)
        with pytest.raises(TimeoutError):
            async with waiting:
                await clock.sleep_until(clock.now() + timedelta(days=1))

    async def test_no_wait_of_several_ends_before_its_deadline(self, clock: Clock) -> None:
        start, ended = clock.now(), list[int]()

        async def wait(number: int) -> None:
            await clock.sleep_until(start + number * STEP)
            assert clock.now() >= start + number * STEP
            ended.append(number)

        async with asyncio.TaskGroup() as tasks:
            for number in (3, 1, 2, 1):
                tasks.create_task(wait(number))
            for _ in range(3):
                await asyncio.sleep(0)
                self.turn(clock, STEP)
        assert sorted(ended) == [1, 1, 2, 3]

    async def test_cancelled_wait_harms_no_other(self, clock: Clock) -> None:
        deadline = clock.now() + STEP
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(clock.sleep_until(deadline))
            cancelled = tasks.create_task(clock.sleep_until(deadline))
            await asyncio.sleep(0)
            cancelled.cancel()
            await asyncio.sleep(0)
            self.turn(clock, STEP)
        assert clock.now() >= deadline
