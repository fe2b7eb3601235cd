from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from atoll.adapters.auth.book_file import read_book
from atoll.domain.people.login import LoginBook, with_ticket

BOOK = with_ticket(LoginBook(name="Jo"), "secret", datetime(2026, 1, 1, tzinfo=UTC))


def test_book_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "logins.json"
    path.write_bytes(msgspec.json.encode(BOOK))
    path.chmod(0o600)
    assert read_book(path) == BOOK


@pytest.mark.parametrize("text", [None, "", "{", '{"tickets": 3}'])
def test_absent_or_unreadable_book_is_an_empty_one(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "logins.json"
    if text is not None:
        path.write_text(text)
        path.chmod(0o600)
    assert read_book(path) == LoginBook()


def test_book_that_others_may_write_is_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "logins.json"
    path.write_bytes(msgspec.json.encode(BOOK))
    path.chmod(0o644)
    assert read_book(path) == LoginBook()
