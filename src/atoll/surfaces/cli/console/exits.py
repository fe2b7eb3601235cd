"""The exit code of each error: the one table of this surface."""

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unauthenticated,
    Unavailable,
)

OK = 0
FAILED = 1
USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
UNAVAILABLE = 5
NOT_AUTHORISED = 6
TIMEOUT = 124
NOT_EXECUTABLE = 126
NO_SUCH_COMMAND = 127
INTERRUPTED = 130

SIGNALLED = 128
"""A command ended by signal n exits with 128 + n, as in a shell."""

_OF_CODE = {
    "timeout": TIMEOUT,
    "no_such_program": NO_SUCH_COMMAND,
    "not_executable": NOT_EXECUTABLE,
}
"""The error codes that have an exit code of their own, as shells have it."""

_CODES: tuple[tuple[type[AtollError], int], ...] = (
    (Invalid, USAGE),
    (NotFound, NOT_FOUND),
    (Conflict, CONFLICT),
    (LimitReached, CONFLICT),
    (Unavailable, UNAVAILABLE),
    (Unauthenticated, NOT_AUTHORISED),
    (Forbidden, NOT_AUTHORISED),
)


def exit_code(error: AtollError) -> int:
    """Return the exit code of an error: by its code, else by its class."""
    if error.code in _OF_CODE:
        return _OF_CODE[error.code]
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return FAILED
