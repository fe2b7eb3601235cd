import asyncio

import pytest

from atoll.adapters.turns import Turns
from atoll.domain.errors import LimitReached


async def test_work_waits_its_turn_in_order_and_up_to_a_bound() -> None:
    turns, gate = Turns("uploads", at_once=2, waiting=3), asyncio.Event()
    begun: list[int] = []

    async def work(number: int) -> None:
        async with turns.turn():
            begun.append(number)
            await gate.wait()

    async with asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(work(number))
        await asyncio.sleep(0)  # every task runs up to its wait
        await asyncio.sleep(0)
        assert begun == [0, 1]
        with pytest.raises(LimitReached, match="3 uploads wait their turn"):
            await work(5)
        gate.set()
    assert begun == [0, 1, 2, 3, 4]
    await work(6)


async def test_one_that_gives_up_leaves_its_place() -> None:
    turns = Turns("uploads", at_once=1, waiting=1)
    async with turns.turn():
        for _ in range(3):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01), turns.turn():
                    raise AssertionError("there is no room")
    async with turns.turn():
        pass
