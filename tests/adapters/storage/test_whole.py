"""Cancelled transactions: over when their task is, and nobody else's matter."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from atoll.adapters.settled import run_to_end
from atoll.adapters.storage.engines.sqlite import sqlite_url
from atoll.adapters.storage.engines.whole import WholeTransaction
from atoll.adapters.storage.store import Settings, SqlStore, open_store
from atoll.testing.samples import draft


async def append(store: SqlStore, number: int) -> None:
    async with store.begin() as rows:
        await rows.events.append([draft(number)])
        await rows.events.last_position()


@pytest.mark.parametrize("seed", range(4))
async def test_those_who_share_a_commit_with_a_cancelled_one_all_succeed(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    numbers = iter(range(1_000_000))
    async with open_store(Settings(sqlite_url(tmp_path / "atoll.db"))) as store:
        for _ in range(60):
            count = chance.randint(2, 5)
            tasks: list[asyncio.Task[None]] = []
            async with asyncio.timeout(20), asyncio.TaskGroup() as group:
                tasks += [group.create_task(append(store, next(numbers))) for _ in range(count)]
                for task in tasks[1:]:
                    for _ in range(chance.randint(0, 12)):
                        await asyncio.sleep(0)
                    for _ in range(chance.randint(0, 2)):
                        task.cancel()
                        await asyncio.sleep(0)
            # The first was left alone, and the group raises what any other one raised.
            assert not tasks[0].cancelled()
        async with store.read() as rows:
            before = await rows.events.last_position()
        await append(store, next(numbers))
        async with store.read() as rows:
            assert await rows.events.last_position() == before + 1


async def test_cancelled_work_is_over_when_the_cancellation_is_raised() -> None:
    begun, end = asyncio.Event(), asyncio.Event()
    done: list[str] = []

    async def work() -> None:
        begun.set()
        await end.wait()
        done.append("work")

    async with asyncio.TaskGroup() as group:
        task = group.create_task(run_to_end(work()))
        await begun.wait()
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        end.set()
    assert task.cancelled() and done == ["work"]


async def test_error_of_settled_work_is_raised() -> None:
    async def work() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_to_end(work())


@pytest.mark.parametrize("where", ["enter", "leave"])
async def test_context_cancelled_on_its_way_is_left(where: str) -> None:
    told: list[str] = []
    slow, go_on = asyncio.Event(), asyncio.Event()

    async def pause(place: str) -> None:
        if place == where:
            slow.set()
            await go_on.wait()

    @asynccontextmanager
    async def context() -> AsyncIterator[str]:
        await pause("enter")
        try:
            yield "connection"
        except BaseException:
            told.append("rolled back")
            raise
        await pause("leave")
        told.append("committed")

    transaction = WholeTransaction(context())  # type: ignore[arg-type]

    async def use() -> None:
        async with transaction:
            pass

    async with asyncio.TaskGroup() as group:
        task = group.create_task(use())
        await slow.wait()
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
    assert task.cancelled()
    assert told == (["rolled back"] if where == "enter" else ["committed"])
    assert transaction.committed is (where == "leave")
