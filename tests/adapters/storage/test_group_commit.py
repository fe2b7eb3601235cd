"""Transactions that share a commit, over a database that is scripted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from atoll.adapters.storage.engines.group_commit import GroupCommit
from atoll.ports import StoreUnavailable


class Scripted:
    """A database that notes what it is asked. A statement that begins with `failing` raises."""

    def __init__(self, failing: str = "nothing") -> None:
        self.said: list[str] = []
        self.failing = failing
        self.link = self

    async def fetch(self, statement: str) -> None:
        self.said.append(statement.split()[0])
        await asyncio.sleep(0)
        if statement.startswith(self.failing):
            raise StoreUnavailable("the connection was lost")

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Any]:
        self.said.append("BEGIN")
        try:
            yield self
            await self.fetch("COMMIT")
        except BaseException:
            self.said.append("END")
            raise


async def act(commits: GroupCommit, number: int, *, wrong: tuple[int, ...] = ()) -> int:
    async with commits.block():
        await asyncio.sleep(0)
        if number in wrong:
            raise ZeroDivisionError
    return number


async def test_one_alone_is_committed_without_a_savepoint() -> None:
    database = Scripted()
    assert await act(GroupCommit(database.writing), 1) == 1
    assert database.said == ["BEGIN", "COMMIT"]


async def test_those_that_wait_share_one_commit() -> None:
    database = Scripted()
    commits = GroupCommit(database.writing)
    assert await asyncio.gather(*(act(commits, n) for n in range(4))) == [0, 1, 2, 3]
    assert database.said == ["BEGIN", *["SAVEPOINT"] * 3, "COMMIT"]


async def test_failed_block_is_rolled_back_alone() -> None:
    database = Scripted()
    commits = GroupCommit(database.writing)
    acts = (act(commits, n, wrong=(2,)) for n in range(4))
    done = await asyncio.gather(*acts, return_exceptions=True)
    assert [type(one) for one in done] == [int, int, ZeroDivisionError, int]
    assert database.said == ["BEGIN", *["SAVEPOINT"] * 2, "ROLLBACK", "SAVEPOINT", "COMMIT"]


async def test_first_block_that_fails_leaves_the_others_their_own_commit() -> None:
    database = Scripted()
    commits = GroupCommit(database.writing)
    acts = (act(commits, n, wrong=(0,)) for n in range(3))
    done = await asyncio.gather(*acts, return_exceptions=True)
    assert [type(one) for one in done] == [ZeroDivisionError, int, int]
    assert database.said == ["BEGIN", "END", "BEGIN", "SAVEPOINT", "COMMIT"]


@pytest.mark.parametrize("failing", ("COMMIT", "SAVEPOINT", "ROLLBACK"))
async def test_lost_connection_is_told_to_everybody_in_the_group(failing: str) -> None:
    database = Scripted(failing)
    commits = GroupCommit(database.writing)
    acts = (act(commits, n, wrong=(2,)) for n in range(4))
    done = await asyncio.gather(*acts, return_exceptions=True)
    assert [type(one) for one in done if not isinstance(one, ZeroDivisionError)] == [
        StoreUnavailable
    ] * (4 if failing == "SAVEPOINT" else 3)
    database.failing = "nothing"
    assert await act(commits, 9) == 9


async def test_first_one_cancelled_while_it_waits_commits_what_the_others_did() -> None:
    database = Scripted()
    commits = GroupCommit(database.writing)
    inside, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        async with commits.block():
            inside.set()
            await go_on.wait()

    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(act(commits, 0))
        second = tasks.create_task(slow())
        await inside.wait()
        first.cancel()
        await asyncio.sleep(0)
        go_on.set()
    assert first.cancelled() and second.done() and second.exception() is None
    assert database.said[-1] == "COMMIT"


async def test_one_that_is_cancelled_in_the_queue_holds_up_nobody() -> None:
    database = Scripted()
    commits = GroupCommit(database.writing)
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        first = tasks.create_task(act(commits, 0))
        second = tasks.create_task(act(commits, 1))
        await asyncio.sleep(0)
        second.cancel()
    assert first.result() == 0 and second.cancelled()
    assert await act(commits, 2) == 2
