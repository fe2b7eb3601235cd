"""The contract of a Leadership.

Subclass `LeadershipContract` in a test module and give it the fixtures `candidate`, which is
elected as soon as it runs, and `store`, in whose transactions it is checked.
"""

import asyncio

import pytest

from atoll.domain.errors import Failed
from atoll.ports import Store
from atoll.ports.leadership import Leadership


class LeadershipContract:
    """Contract of a leadership: work runs while it lasts, and only then."""

    async def test_act_runs_once_elected_and_ends_with_the_run(
        self, candidate: Leadership, store: Store
    ) -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def act() -> None:
            assert candidate.leads
            async with store.begin() as rows:
                await candidate.check(rows)
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(candidate.run(act))
            async with asyncio.timeout(30):
                await begun.wait()
            running.cancel()
        assert ended.is_set()

    async def test_error_of_the_act_is_raised(self, candidate: Leadership) -> None:
        async def act() -> None:
            raise Failed("It broke.")

        with pytest.raises(Failed):
            async with asyncio.timeout(30):
                await candidate.run(act)

    async def test_part_in_elections_never_changes(self, candidate: Leadership) -> None:
        assert candidate.shared == candidate.shared
