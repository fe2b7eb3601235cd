"""Logins in a store: what a restart leaves, and what several replicas see of each other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.storage.store import Settings, open_store
from atoll.domain.errors import LimitReached, Unauthenticated, Unavailable
from atoll.domain.ids import PERSONAL_ORG, OrgId
from atoll.domain.live import MAX_SUBSCRIPTIONS
from atoll.domain.people.login import MAX_GUESSES, LoginBook, with_ticket
from atoll.ports import Store, Transaction
from atoll.ports.bus import LiveChannels
from atoll.services.people.logins import CHANNEL, FOLLOW_SECONDS, Logins
from atoll.services.wakeups import LEAST_SECONDS, Wakeups
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


def logins(
    store: Store, clock: VirtualClock | None = None, live: LiveChannels | None = None
) -> Logins:
    clock = clock or VirtualClock()
    return Logins(store, clock, token=TOKEN, wakeups=Wakeups(live, clock))


async def test_session_and_ticket_outlive_a_restart(store: BreakableStore) -> None:
    before = logins(store)
    session = await before.login(await before.new_ticket(), "here")
    ticket = await before.new_ticket()
    after = logins(store)
    await after.load()
    assert await after.holds(session)
    assert await after.login(ticket, "here")


async def test_wrong_secrets_of_one_network_count_together(store: BreakableStore) -> None:
    service = logins(store)
    last = [service.wrong(f"2001:db8::{low:x}", "") for low in range(MAX_GUESSES)][-1]
    assert isinstance(last, LimitReached)
    assert isinstance(service.wrong("2001:db8:0:1::1", ""), Unauthenticated)


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


def _is(live: InProcessChannels) -> Callable[[], Awaitable[bool]]:
    async def subscribed() -> bool:
        return bool(live.keys)

    return subscribed


async def _ended(logins: Logins, session: str) -> bool:
    return not await logins.holds(session)


async def _until(holds: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(5000):
        if await holds():
            return
        await asyncio.sleep(0.001)
    raise AssertionError


async def test_log_out_on_one_replica_wakes_the_others(store: BreakableStore) -> None:
    live, clock = InProcessChannels(), VirtualClock()
    one, other = logins(store, live=live), logins(store, clock, live)
    session = await one.login(await one.new_ticket(), "here")
    await other.look()
    async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
        following = tasks.create_task(other.follow())
        await _until(_is(live))
        clock.turn(LEAST_SECONDS)
        await one.logout(session)
        await _until(lambda: _ended(other, session))  # no time passes
        following.cancel()


async def test_other_organizations_wake_nobody_and_a_flood_wakes_seldom(
    store: BreakableStore,
) -> None:
    live, clock, looks = InProcessChannels(), VirtualClock(), 0
    other = logins(store, clock, live)

    async def look() -> None:
        nonlocal looks
        looks += 1

    setattr(other, "look", look)  # noqa: B010 - only how often matters
    async with asyncio.TaskGroup() as tasks:
        following = tasks.create_task(other.follow())
        await _until(_is(live))
        clock.turn(LEAST_SECONDS)
        for _ in range(100):
            live.publish(OrgId("hostile"), CHANNEL, b"logged out")
            await asyncio.sleep(0)
        assert looks == 0
        for _ in range(500):
            live.publish(PERSONAL_ORG, CHANNEL, b"\xff not ours")
            await asyncio.sleep(0)
        assert looks == 1
        following.cancel()


async def test_organization_that_sends_too_much_is_followed_by_polling() -> None:
    live, clock = InProcessChannels(), VirtualClock()
    wakeups = Wakeups(live, clock)
    with ExitStack() as stack:
        for _ in range(MAX_SUBSCRIPTIONS):
            stack.enter_context(live.subscribe(PERSONAL_ORG, CHANNEL))
        with wakeups.waiting(PERSONAL_ORG, CHANNEL) as news:
            async with asyncio.timeout(10), asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(news.wait(5))
                await asyncio.sleep(0)
                clock.turn(5)
                await waiting
    for _ in range(20_000):
        wakeups.send(PERSONAL_ORG, CHANNEL)
