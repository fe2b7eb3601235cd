"""The order in which the requests of several clients start."""

import asyncio
from time import monotonic
from typing import Any

from atoll.surfaces.http.server.connections.fair_starts import AT_ONCE, FairStarts

OURS, THEIRS = "192.0.2.1", "192.0.2.2"
MANY = 20 * AT_ONCE


class Starts:
    """An application that notes who started, behind what starts requests in turn."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.fair = FairStarts(self._start)

    async def _start(self, scope: Any, receive: Any, send: Any) -> None:
        self.order.append(scope["client"][0] if scope.get("client") else scope["type"])

    async def ask(self, client: str) -> None:
        await self._ask({"type": "http", "client": (client, 1)})

    async def _ask(self, scope: dict[str, Any]) -> None:
        unused: Any = None  # nobody reads or answers
        await self.fair(scope, unused, unused)


def keep_busy(seconds: float) -> None:
    """Keep the loop busy for so long."""
    ends = monotonic() + seconds
    while monotonic() < ends:
        pass


async def test_burst_of_one_client_keeps_no_other_waiting() -> None:
    starts = Starts()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(MANY):
            tasks.create_task(starts.ask(THEIRS))
        tasks.create_task(starts.ask(OURS))
    assert len(starts.order) == MANY + 1
    assert starts.order.index(OURS) <= 2 * AT_ONCE


async def test_few_requests_start_at_once() -> None:
    starts = Starts()
    async with asyncio.TaskGroup() as tasks:
        ours = [tasks.create_task(starts.ask(OURS)) for _ in range(AT_ONCE)]
        await asyncio.sleep(0)
        assert all(one.done() for one in ours)


async def test_request_that_is_given_up_takes_no_turn() -> None:
    starts = Starts()
    async with asyncio.TaskGroup() as tasks:
        theirs = [tasks.create_task(starts.ask(THEIRS)) for _ in range(MANY)]
        await asyncio.sleep(0)
        for one in theirs:
            one.cancel()
        await asyncio.wait_for(starts.ask(OURS), 5)
    assert starts.order == [THEIRS] * AT_ONCE + [OURS]


async def test_busy_loop_starts_one_after_another() -> None:
    starts = Starts()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(MANY):
            tasks.create_task(starts.ask(THEIRS))
        await asyncio.sleep(0)
        while len(starts.order) == AT_ONCE:
            keep_busy(0.02)
            await asyncio.sleep(0)
        assert len(starts.order) == AT_ONCE + 1


async def test_what_is_no_request_does_not_wait() -> None:
    starts = Starts()
    async with asyncio.TaskGroup() as tasks:
        others = [tasks.create_task(starts._ask({"type": "lifespan"})) for _ in range(MANY)]
        await asyncio.sleep(0)
        assert all(one.done() for one in others)
