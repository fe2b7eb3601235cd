"""Checks of the rows by which replicas agree."""

from datetime import timedelta

from atoll.domain.ids import SandboxId
from atoll.domain.people.login import MAX_SESSIONS, MAX_TICKETS, Grant, LoginBook, fingerprint
from atoll.domain.sandboxes.owed import Owed
from atoll.domain.wall.isolation import Isolation
from atoll.ports import Reachability, Store
from atoll.testing.samples import NOW, sandbox
from atoll.wire.words.walls import IsolationLevel

ONE, TWO = SandboxId("sb_1"), SandboxId("sb_2")
REACH = Reachability("unix:/run/x", Isolation(IsolationLevel.CONTAINER, "bwrap", ("no",)), "t")


async def check_each_leader_has_a_higher_epoch_and_hears_of_the_one_before(store: Store) -> None:
    async with store.begin() as rows:
        assert await rows.replicas.epoch() == 0
        assert await rows.replicas.elect("one") == (1, "")
        assert await rows.replicas.elect("two") == (2, "one")
        await rows.replicas.resign(1)
        assert await rows.replicas.elect("three") == (3, "two")
        await rows.replicas.resign(3)
    async with store.begin() as rows:
        assert await rows.replicas.epoch() == 3
        assert await rows.replicas.elect("one") == (4, "")


async def check_owed_work_is_counted_and_settled_up_to_a_number(store: Store) -> None:
    box = sandbox("box")
    other = SandboxId("sb_else")
    async with store.begin() as rows:
        await rows.sandboxes.insert(box)
        await rows.replicas.owe(box.id, ending=True)
        await rows.replicas.owe(box.id, ending=False)
        await rows.replicas.owe(other, ending=False)
        assert await rows.replicas.owed() == {box.id: 2, other: 1}
        assert await rows.replicas.owing([box.id, other]) == [(Owed(box.id, 2, True), box)]
        assert not await rows.replicas.settle(box.id, 1)
        assert await rows.replicas.settle(box.id, 2)
        assert await rows.replicas.settle(box.id, 2)
    async with store.begin() as rows:
        assert await rows.replicas.owed() == {other: 1}
        assert await rows.replicas.owing([]) == []
        await rows.replicas.owe(box.id, ending=False)
        assert await rows.replicas.owing([box.id]) == [(Owed(box.id, 1, False), box)]


async def check_maintenance_is_wanted_until_the_latest_moment(store: Store) -> None:
    async with store.begin() as rows:
        await rows.maintenance.want(ONE, NOW + timedelta(seconds=20))
        await rows.maintenance.want(ONE, NOW + timedelta(seconds=10))
        await rows.maintenance.want(TWO, NOW + timedelta(seconds=10))
        assert await rows.maintenance.wanted(NOW) == [ONE, TWO]
        assert await rows.maintenance.wanted(NOW + timedelta(seconds=10)) == [ONE]
    async with store.begin() as rows:
        assert await rows.maintenance.wanted(NOW) == [ONE]
        assert await rows.maintenance.wanted(NOW + timedelta(seconds=20)) == []


async def check_maintenance_is_answered_by_an_address_or_a_reason(store: Store) -> None:
    async with store.begin() as rows:
        await rows.maintenance.answer(ONE, REACH)
        assert await rows.maintenance.answered(ONE) is None
        await rows.maintenance.want(ONE, NOW)
        assert await rows.maintenance.answered(ONE) is None
        for answer in (REACH, "It broke.", None):
            await rows.maintenance.answer(ONE, answer)
            assert await rows.maintenance.answered(ONE) == answer


def full_book() -> LoginBook:
    """Return a book with as many tickets and sessions as there may be."""

    def grants(kind: str, count: int) -> tuple[Grant, ...]:
        ends = (NOW + timedelta(seconds=number) for number in range(count))
        return tuple(Grant(fingerprint(f"{kind} {end}"), end) for end in ends)

    return LoginBook(grants("ticket", MAX_TICKETS), grants("session", MAX_SESSIONS), "Jo \u4f60")


async def check_login_book_keeps_its_order_and_its_microseconds(store: Store) -> None:
    async with store.begin() as rows:
        assert await rows.logins.newer(0) is None
        assert await rows.logins.put(full_book()) == 1
    async with store.read() as rows:
        assert await rows.logins.newer(0) == (1, full_book())


async def check_login_book_is_read_again_only_when_it_changed(store: Store) -> None:
    async with store.begin() as rows:
        first = await rows.logins.put(full_book())
        assert await rows.logins.newer(first) is None
        second = await rows.logins.put(LoginBook(name="Jo"))
        assert second > first
    async with store.read() as rows:
        assert await rows.logins.newer(first) == (second, LoginBook(name="Jo"))
        assert await rows.logins.newer(second) is None
