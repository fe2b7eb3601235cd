from pathlib import Path

import pytest

from atoll.adapters.auth.book_file import BookFile
from atoll.domain.errors import Failed
from atoll.domain.people.login import LoginBook
from atoll.ports.logins import LoginBooks
from atoll.testing import FakeLoginBooks, LoginBooksContract


class TestBookFile(LoginBooksContract):
    @pytest.fixture
    def books(self, tmp_path: Path) -> BookFile:
        return BookFile(tmp_path / "logins.json")

    def reopened(self, books: LoginBooks) -> BookFile:
        assert isinstance(books, BookFile)
        return BookFile(books._path)

    def hinder(self, books: LoginBooks) -> None:
        assert isinstance(books, BookFile)
        books._path.mkdir()


class TestFakeLoginBooks(LoginBooksContract):
    @pytest.fixture
    def books(self) -> FakeLoginBooks:
        return FakeLoginBooks()

    def hinder(self, books: LoginBooks) -> None:
        assert isinstance(books, FakeLoginBooks)
        books.failure = Failed("The disk is full.")


async def test_unreadable_book_is_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "logins.json").write_text("{")
    (tmp_path / "logins.json").chmod(0o600)
    assert await BookFile(tmp_path / "logins.json").load() == LoginBook()
