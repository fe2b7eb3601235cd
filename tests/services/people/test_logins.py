"""Logins over a book in memory: what a restart and a full disk leave."""

import pytest

from atoll.domain.errors import Failed, Unauthenticated
from atoll.services.people.logins import Logins
from atoll.testing import FakeLoginBooks, VirtualClock

TOKEN = "x" * 43


def logins(books: FakeLoginBooks) -> Logins:
    return Logins(books, VirtualClock(), token=TOKEN)


async def test_session_and_ticket_outlive_a_restart() -> None:
    books = FakeLoginBooks()
    before = logins(books)
    session = await before.login(await before.new_ticket(), "here")
    ticket = await before.new_ticket()
    after = logins(books)
    await after.load()
    assert after.holds(session)
    assert await after.login(ticket, "here")


async def test_ticket_stays_good_when_its_use_cannot_be_recorded() -> None:
    books = FakeLoginBooks()
    service = logins(books)
    ticket = await service.new_ticket()
    books.failure = Failed("The disk is full.")
    with pytest.raises(Failed):
        await service.login(ticket, "here")
    books.failure = None
    session = await service.login(ticket, "here")
    assert service.holds(session)
    with pytest.raises(Unauthenticated):
        await service.login(ticket, "here")


async def test_logout_that_cannot_be_recorded_ends_no_session() -> None:
    books = FakeLoginBooks()
    service = logins(books)
    session = await service.login(await service.new_ticket(), "here")
    books.failure = Failed("The disk is full.")
    with pytest.raises(Failed):
        await service.logout(session)
    assert service.holds(session)


async def test_logout_of_an_unknown_session_writes_nothing() -> None:
    books = FakeLoginBooks()
    await logins(books).logout("unknown")
    assert books.saves == 0
