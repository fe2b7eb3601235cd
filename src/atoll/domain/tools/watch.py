"""A watch: what one session of a client wants to learn changes of. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from atoll.domain.errors import LimitReached

MAX_WATCHES: Final = 100
"""The number of watches of a session."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A path or pattern that a session watches. `position` is where the log ended when it began,
    `expires_at` the end of the session."""

    session_id: str
    path: str
    position: int
    expires_at: datetime


def check_room(count: int) -> None:
    """Check that a session may watch one more thing. Raises `LimitReached`."""
    check_number(count + 1)


def check_number(count: int) -> None:
    """Check that so many URIs may be watched at once. Raises `LimitReached`."""
    if count > MAX_WATCHES:
        raise LimitReached(
            f"a session watches {MAX_WATCHES} URIs at most: watch a pattern such as `…/*` instead"
        )
