"""The login book of versions that kept it in a file, `$ATOLL_HOME/logins.json`."""

from pathlib import Path

import msgspec
import structlog

from atoll.adapters.auth.private_file import read_private
from atoll.domain.errors import Failed
from atoll.domain.people.login import LoginBook
from atoll.wire.http.unreadable import UNREADABLE

_MAX_BYTES = 256 * 1024
_log = structlog.get_logger(__name__)


def read_book(path: Path) -> LoginBook:
    """Return the book in a private file. An absent or unreadable one counts as empty: everybody
    logs in again."""
    try:
        data = read_private(path, _MAX_BYTES)
        return msgspec.json.decode(data, type=LoginBook) if data else LoginBook()
    except (Failed, *UNREADABLE) as error:
        _log.warning("login_book_unreadable", reason=str(error))
        return LoginBook()
