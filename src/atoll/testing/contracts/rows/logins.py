"""Checks of the rows of logins."""

from datetime import timedelta

from atoll.domain.people.login import MAX_SESSIONS, MAX_TICKETS, Grant, LoginBook, fingerprint
from atoll.ports import Store
from atoll.testing.contracts.event_log import NOW


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
