"""Logins in a store: what a restart leaves, and what several replicas see of each other."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import Unauthenticated, Unavailable
from atoll.domain.people.login import LoginBook, with_ticket
from atoll.ports import Store, Transaction
from atoll.services.people.logins import FOLLOW_SECONDS, Logins
from atoll.testing import VirtualClock
from tests.peers.databases.chosen import database_url

TOKEN = "x" * 43


class BreakableStore:
    """A store that can be made to refuse changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.broken = False
        self.read, self.close = store.read, store.close

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Transaction]:
        async with self._store.begin() as rows:
            yield rows
            if self.broken:
                raise Unavailable("The disk is full.")

    @contextmanager
    def failing(self) -> Iterator[None]:
        self.broken = True
        try:
            with pytest.raises(Unavailable):
                yield
        finally:
            self.broken = False


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[BreakableStore]:
    async with open_store(Settings(database_url(tmp_path))) as opened:
        yield BreakableStore(opened)


def logins(store: Store, clock: VirtualClock | None = None) -> Logins:
    return Logins(store, clock or VirtualClock(), token=TOKEN)


async def test_session_and_ticket_outlive_a_restart(store: BreakableStore) -> None:
    before = logins(store)
    session = await before.login(await before.new_ticket(), "here")
    ticket = await before.new_ticket()
    after = logins(store)
    await after.load()
    assert await after.holds(session)
    assert await after.login(ticket, "here")


async def test_ticket_stays_good_when_its_use_cannot_be_recorded(store: BreakableStore) -> None:
    service = logins(store)
    ticket = await service.new_ticket()
    with store.failing():
        await service.login(ticket, "here")
    session = await service.login(ticket, "here")
    assert await service.holds(session)
    with pytest.raises(Unauthenticated):
        await service.login(ticket, "here")


async def test_logout_that_cannot_be_recorded_ends_no_session(store: BreakableStore) -> None:
    service = logins(store)
    session = await service.login(await service.new_ticket(), "here")
    with store.failing():
        await service.logout(session)
    assert await service.holds(session)


async def test_logout_of_an_unknown_session_writes_nothing(store: BreakableStore) -> None:
    await logins(store).logout("unknown")
    async with store.read() as rows:
        assert await rows.logins.newer(0) is None


async def test_ticket_used_on_two_replicas_at_once_logs_in_once(store: BreakableStore) -> None:
    one, other = logins(store), logins(store)
    ticket = await one.new_ticket()
    done = await asyncio.gather(
        one.login(ticket, "here"), other.login(ticket, "there"), return_exceptions=True
    )
    assert [type(each) for each in done if not isinstance(each, str)] == [Unauthenticated]


async def test_login_on_one_replica_is_one_on_another_at_once(store: BreakableStore) -> None:
    one, other = logins(store), logins(store)
    session = await one.login(await one.new_ticket(), "here")
    assert (await other.by_session(session, "there")).interactive
    await one.rename(one.person(), "Ada")
    await other.look()
    assert other.person().name == "Ada"


async def test_session_ended_on_one_replica_ends_on_a_following_one(store: BreakableStore) -> None:
    clock = VirtualClock()
    one, other = logins(store), logins(store, clock)
    session = await one.login(await one.new_ticket(), "here")
    await other.look()
    assert await other.holds(session)
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(other.follow())
        await one.logout(session)
        while await other.holds(session):
            clock.turn(FOLLOW_SECONDS)
            await asyncio.sleep(0.001)
        following.cancel()
    with pytest.raises(Unauthenticated):
        await other.by_session(session, "there")


async def test_book_of_a_file_is_taken_over_once(store: BreakableStore) -> None:
    clock = VirtualClock()
    first = logins(store, clock)
    await first.load(lambda: with_ticket(LoginBook(name="Jo"), "of the file", clock.now()))
    assert first.person().name == "Jo"
    session = await first.login("of the file", "here")
    await first.logout(session)
    second = logins(store, clock)
    await second.load(lambda: with_ticket(LoginBook(name="No"), "of the file", clock.now()))
    assert second.person().name == "Jo"
    with pytest.raises(Unauthenticated):
        await second.login("of the file", "here")
