"""The contract of LoginBooks.

Subclass `LoginBooksContract` in a test module, give it the fixture `books` (nothing is kept yet),
and override `reopened` where a restart would make a new object.
"""

from dataclasses import replace
from datetime import UTC, datetime

from atoll.domain.people.login import LoginBook, with_ticket
from atoll.ports.logins import LoginBooks

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class LoginBooksContract:
    """A single book, replaced as a whole, there after a restart."""

    def reopened(self, books: LoginBooks) -> LoginBooks:
        """Return the books as a restarted control plane opens them."""
        return books

    async def test_nothing_kept_is_an_empty_book(self, books: LoginBooks) -> None:
        assert await books.load() == LoginBook()

    async def test_saved_book_is_there_after_a_restart(self, books: LoginBooks) -> None:
        book = with_ticket(LoginBook(), "secret", NOW)
        await books.save(book)
        assert await self.reopened(books).load() == book

    async def test_save_replaces_the_whole_book(self, books: LoginBooks) -> None:
        book = with_ticket(LoginBook(), "one", NOW)
        await books.save(book)
        await books.save(replace(book, tickets=()))
        assert await self.reopened(books).load() == LoginBook()
