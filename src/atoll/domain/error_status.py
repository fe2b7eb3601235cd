"""The HTTP status of each error, and the error for each status (RFC 9110 §15).

One table for the control plane, the runtimes and all who read their responses. The format of
problem documents belongs to each of them.
"""

from typing import Final

from atoll.domain.errors import (
    AtollError,
    Conflict,
    Failed,
    Forbidden,
    Invalid,
    LimitReached,
    NotFound,
    Unauthenticated,
    Unavailable,
)

INTERNAL: Final = 500

SHOWN_CHARACTERS: Final = 2000
SHOWN_NAME: Final = 200
"""The characters of an error's message and field that clients are sent: both repeat input."""

_STATUSES: Final[dict[type[AtollError], int]] = {
    Invalid: 422,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    LimitReached: 429,
    Unavailable: 503,
    Failed: 502,
}
_OF_CODE: Final = {
    "too_large": 413,
    "method_not_allowed": 405,
    "misdirected": 421,
    "stale_cursor": 410,
}
"""The codes that have a status of their own."""

_KINDS: Final = {status: kind for kind, status in _STATUSES.items()} | {
    400: Invalid,
    405: Invalid,
    410: Conflict,
    413: LimitReached,
    415: Invalid,
    416: Invalid,
}


def status_of(error: AtollError) -> int:
    """Return the status of an error: by its code when that has one of its own, else by its
    class."""
    by_class = (_STATUSES[kind] for kind in type(error).__mro__ if kind in _STATUSES)
    return _OF_CODE.get(error.code) or next(by_class, INTERNAL)


def kind_of(status: int) -> type[AtollError]:
    """Return the error class for a response with this status; `Failed` for an unknown one."""
    return _KINDS.get(status, Failed)
