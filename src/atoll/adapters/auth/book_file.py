"""The login book as a private JSON file: fingerprints and ends only, never a secret."""

import asyncio
import threading
from pathlib import Path

import msgspec
import structlog

from atoll.adapters.auth.private_file import read_private, write_private
from atoll.domain.errors import Failed
from atoll.domain.people.login import LoginBook
from atoll.wire.http.unreadable import UNREADABLE

_MAX_BYTES = 256 * 1024
_log = structlog.get_logger(__name__)


class BookFile:
    """The `ports.logins.LoginBooks` over one file of mode 0600."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The thread of a cancelled save goes on: it must neither share its draft with the next
        # one nor replace that one's book.
        self._writing = threading.Lock()
        self._begun = 0
        self._written = 0

    async def load(self) -> LoginBook:
        """Return the kept book; an unreadable one counts as empty and is replaced by the next
        save."""
        return await asyncio.to_thread(self._read)

    async def save(self, book: LoginBook) -> None:
        """Replace the book. Raises `Failed` when the file cannot be written."""
        self._begun += 1
        await asyncio.to_thread(self._write, self._begun, msgspec.json.encode(book))

    def _write(self, number: int, data: bytes) -> None:
        with self._writing:
            if number > self._written:
                write_private(self._path, data)
                self._written = number

    def _read(self) -> LoginBook:
        try:
            data = read_private(self._path, _MAX_BYTES)
            return msgspec.json.decode(data, type=LoginBook) if data else LoginBook()
        except (Failed, *UNREADABLE) as error:
            _log.warning("login_book_unreadable", reason=str(error))
            return LoginBook()
