"""Reads that are shared: by whom, and not by whom."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from atoll.domain.errors import Unavailable
from atoll.services.journals.shared_reads import Begin, SharedReads


class Source:
    """A thing to read. Each read waits for `connected`, finds what there is when it begins, and
    waits for `go_on`."""

    def __init__(self) -> None:
        self.value = 0
        self.reads = 0
        self.connected = asyncio.Event()
        self.connected.set()
        self.go_on = asyncio.Event()
        self.fails = False

    async def read(self, key: str, begin: Begin) -> tuple[str, int]:
        await self.connected.wait()
        begin()
        self.reads += 1
        found = (key, self.value)
        await self.go_on.wait()
        if self.fails:
            raise Unavailable("away")
        return found


async def turn_until(reached: Callable[[], bool]) -> None:
    while not reached():  # noqa: ASYNC110 - the loop's own turns are the subject
        await asyncio.sleep(0)


async def test_who_asks_at_the_same_moment_shares_a_read() -> None:
    source = Source()
    source.go_on.set()
    reads = SharedReads(source.read)
    found = await asyncio.gather(*(reads.of("a") for _ in range(9)), reads.of("b"))
    assert found == [("a", 0)] * 9 + [("b", 0)]
    assert source.reads == 2


async def test_read_that_has_begun_is_not_joined() -> None:
    source = Source()
    reads = SharedReads(source.read)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(reads.of("a"))
        await turn_until(lambda: source.reads == 1)
        source.value = 1
        second = tasks.create_task(reads.of("a"))
        await turn_until(lambda: source.reads == 2)
        source.go_on.set()
    assert (first.result(), second.result()) == (("a", 0), ("a", 1))


async def test_read_that_waits_for_a_connection_is_joined() -> None:
    source = Source()
    source.connected.clear()
    source.go_on.set()
    reads = SharedReads(source.read)
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(reads.of("a"))
        for _ in range(5):
            await asyncio.sleep(0)
        source.value = 1
        second = tasks.create_task(reads.of("a"))
        await asyncio.sleep(0)
        source.connected.set()
    assert (first.result(), second.result(), source.reads) == (("a", 1), ("a", 1), 1)


@pytest.mark.parametrize("begun", [False, True])
async def test_others_read_themselves_when_the_one_who_reads_leaves(begun: bool) -> None:
    source = Source()
    reads = SharedReads(source.read)
    async with asyncio.TaskGroup() as tasks:
        leader, *others = [tasks.create_task(reads.of("a")) for _ in range(4)]
        await asyncio.sleep(0)
        if begun:
            await turn_until(lambda: source.reads == 1)
        leader.cancel()
        await turn_until(lambda: leader.done())
        source.go_on.set()
    assert [one.result() for one in others] == [("a", 0)] * 3
    assert leader.cancelled() and source.reads == (2 if begun else 1)


async def test_one_who_leaves_takes_nobody_along() -> None:
    source = Source()
    reads = SharedReads(source.read)
    async with asyncio.TaskGroup() as tasks:
        leader, leaving, other = [tasks.create_task(reads.of("a")) for _ in range(3)]
        await turn_until(lambda: source.reads == 1)
        leaving.cancel()
        await turn_until(lambda: leaving.done())
        source.go_on.set()
    assert leaving.cancelled() and source.reads == 1
    assert leader.result() == other.result() == ("a", 0)


async def test_failure_is_everybodys_who_shared_it_and_the_next_reads_anew() -> None:
    source = Source()
    source.fails = True
    source.go_on.set()
    reads = SharedReads(source.read)
    found: list[object] = await asyncio.gather(
        *(reads.of("a") for _ in range(3)), return_exceptions=True
    )
    assert [str(one) for one in found] == ["away"] * 3 and source.reads == 1
    source.fails = False
    ask: Awaitable[tuple[str, int]] = reads.of("a")
    assert await ask == ("a", 0)


@pytest.mark.parametrize("begun", [True, False])
async def test_all_who_are_cancelled_together_end(begun: bool) -> None:
    """As by a task group that ends: nobody takes the place of the reader that they waited for."""
    source = Source()
    reads = SharedReads(source.read)
    async with asyncio.TaskGroup() as tasks:
        readers = [tasks.create_task(reads.of("a")) for _ in range(3)]
        if begun:
            await turn_until(lambda: source.reads == 1)
        else:
            await asyncio.sleep(0)
        for one in readers:
            one.cancel()
        await turn_until(lambda: readers[0].done())
        left = asyncio.get_running_loop().call_later(1, source.go_on.set)
        await asyncio.wait(readers)
        left.cancel()
    assert all(one.cancelled() for one in readers)
