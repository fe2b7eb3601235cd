"""A timeout ends its wait, whatever its task has been through."""

import asyncio

import pytest


async def _fail() -> None:
    raise ValueError


async def test_timeout_after_a_failed_group_of_tasks_is_a_timeout() -> None:
    with pytest.raises(ExceptionGroup):
        async with asyncio.TaskGroup() as group:
            group.create_task(_fail())
            group.create_task(asyncio.Event().wait())
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await asyncio.Event().wait()


async def test_task_that_is_cancelled_in_a_timeout_ends_cancelled() -> None:
    begun = asyncio.Event()

    async def wait() -> None:
        async with asyncio.timeout(60):
            begun.set()
            await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(wait())
        await begun.wait()
        task.cancel()
    assert task.cancelled()
