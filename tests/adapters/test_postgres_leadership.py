"""Elections on a real server: who leads, and what a leader does that lost its connection."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from atoll.adapters.leadership import GRACE_SECONDS, PostgresLeadership
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Conflict
from atoll.ports import Store
from atoll.services.ground import SoleLeader
from atoll.testing import FakeLeadership, LeadershipContract
from tests.peers.databases.postgres import PostgresServer

ELECTION_SECONDS = 20.0
"""At most, on a busy machine."""


@pytest.fixture
def name(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.current()
    yield made
    postgres.drop(made)


@pytest.fixture
async def store(postgres: PostgresServer, name: str) -> AsyncIterator[Store]:
    async with open_store(Settings(postgres.url(name))) as opened:
        yield opened


class TestPostgresLeadership(LeadershipContract):
    @pytest.fixture
    def candidate(self, postgres: PostgresServer, name: str, store: Store) -> PostgresLeadership:
        return PostgresLeadership(postgres.url(name), store, "one")


class TestSoleLeader(LeadershipContract):
    @pytest.fixture
    def candidate(self) -> SoleLeader:
        return SoleLeader()


class TestFakeLeadership(LeadershipContract):
    @pytest.fixture
    def candidate(self) -> FakeLeadership:
        made = FakeLeadership()
        made.elect()
        return made


class Candidate:
    """A leadership that runs, and how often its work began and ended."""

    def __init__(self, url: str, store: Store, name: str) -> None:
        self.leadership = PostgresLeadership(url, store, name)
        self.begun, self.ended = asyncio.Event(), asyncio.Event()

    async def act(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def elected(self) -> None:
        async with asyncio.timeout(ELECTION_SECONDS):
            await self.begun.wait()


def cut(postgres: PostgresServer, name: str, who: str) -> None:
    postgres.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        f" WHERE application_name = 'atoll leader {who}' AND datname = '{name}'"
    )


async def test_one_of_two_leads_and_the_other_takes_over_at_once_when_it_resigns(
    postgres: PostgresServer, name: str, store: Store
) -> None:
    one, two = (Candidate(postgres.url(name), store, who) for who in ("one", "two"))
    async with asyncio.TaskGroup() as tasks:
        first = tasks.create_task(one.leadership.run(one.act))
        await one.elected()
        second = tasks.create_task(two.leadership.run(two.act))
        await asyncio.sleep(1)  # the other may not lead in this time
        assert not two.begun.is_set() and not two.leadership.leads
        async with store.begin() as rows:
            with pytest.raises(Conflict):
                await two.leadership.check(rows)
        first.cancel()
        started = asyncio.get_running_loop().time()
        await two.elected()
        assert asyncio.get_running_loop().time() - started < GRACE_SECONDS
        assert one.ended.is_set()
        second.cancel()


async def test_leader_whose_connection_is_cut_ends_its_work_before_the_next_begins(
    postgres: PostgresServer, name: str, store: Store
) -> None:
    one, two = (Candidate(postgres.url(name), store, who) for who in ("one", "two"))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(one.leadership.run(one.act))]
        await one.elected()
        running.append(tasks.create_task(two.leadership.run(two.act)))
        one.begun.clear()
        await asyncio.to_thread(cut, postgres, name, "one")
        async with asyncio.timeout(ELECTION_SECONDS):
            await one.ended.wait()
            assert not two.begun.is_set()
            again = [tasks.create_task(each.begun.wait()) for each in (one, two)]
            await asyncio.wait(again, return_when=asyncio.FIRST_COMPLETED)
        leads, follows = (one, two) if one.begun.is_set() else (two, one)
        async with store.begin() as rows:
            await leads.leadership.check(rows)
            with pytest.raises(Conflict):
                await follows.leadership.check(rows)
        for waiting in again:
            waiting.cancel()
        for task in running:
            task.cancel()


async def test_leader_that_does_not_know_it_was_replaced_is_fenced(
    postgres: PostgresServer, name: str, store: Store
) -> None:
    one = Candidate(postgres.url(name), store, "one")
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(one.leadership.run(one.act))
        await one.elected()
        async with store.begin() as rows:
            await rows.replicas.elect("another")
        assert one.leadership.leads
        async with store.begin() as rows:
            with pytest.raises(Conflict):
                await one.leadership.check(rows)
        running.cancel()
