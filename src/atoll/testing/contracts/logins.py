"""The contract of LoginBooks.

Subclass `LoginBooksContract` in a test module, give it the fixture `books` (nothing is kept yet),
and override `hinder`, and `reopened` where a restart would make a new object.
"""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import Failed
from atoll.domain.people.login import (
    MAX_SESSIONS,
    MAX_TICKETS,
    Grant,
    LoginBook,
    fingerprint,
    with_ticket,
)
from atoll.ports.logins import LoginBooks

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def full_book() -> LoginBook:
    """Return the largest book there can be."""

    def grants(what: str, count: int) -> tuple[Grant, ...]:
        ends = (NOW + timedelta(microseconds=number) for number in range(count))
        return tuple(Grant(fingerprint(f"{what} {end}"), end) for end in ends)

    return LoginBook(grants("ticket", MAX_TICKETS), grants("session", MAX_SESSIONS))


class LoginBooksContract:
    """A single book, replaced as a whole, there after a restart."""

    def reopened(self, books: LoginBooks) -> LoginBooks:
        """Return the books as a restarted control plane opens them."""
        return books

    def hinder(self, books: LoginBooks) -> None:
        """Make every later save fail, as a full disk would."""
        raise NotImplementedError("override hinder() in your subclass of LoginBooksContract")

    async def test_nothing_kept_is_an_empty_book(self, books: LoginBooks) -> None:
        assert await books.load() == LoginBook()

    async def test_saved_book_is_there_after_a_restart(self, books: LoginBooks) -> None:
        book = with_ticket(LoginBook(), "secret", NOW)
        await books.save(book)
        assert await self.reopened(books).load() == book

    async def test_full_book_keeps_its_order_and_its_microseconds(self, books: LoginBooks) -> None:
        await books.save(full_book())
        assert await self.reopened(books).load() == full_book()

    async def test_save_replaces_the_whole_book(self, books: LoginBooks) -> None:
        book = with_ticket(LoginBook(), "one", NOW)
        await books.save(book)
        await books.save(replace(book, tickets=()))
        assert await self.reopened(books).load() == LoginBook()

    async def test_save_that_is_cancelled_never_replaces_a_later_one(
        self, books: LoginBooks
    ) -> None:
        later = with_ticket(LoginBook(), "later", NOW)
        for _ in range(20):
            async with asyncio.TaskGroup() as tasks:
                first = tasks.create_task(books.save(full_book()))
                await asyncio.sleep(0)
                first.cancel()
            await books.save(later)
            assert await self.reopened(books).load() == later
        await asyncio.sleep(0.01)
        assert await self.reopened(books).load() == later

    async def test_save_that_fails_says_so_and_leaves_no_half_book(self, books: LoginBooks) -> None:
        self.hinder(books)
        with pytest.raises(Failed):
            await books.save(full_book())
        assert await self.reopened(books).load() == LoginBook()
