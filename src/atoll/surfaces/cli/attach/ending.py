"""The ways an attach session ends."""

from dataclasses import dataclass
from typing import TypeAlias

GUEST_OVER = (
    "your access has ended: the link was revoked or has expired. Ask whoever invited you for a new "
    "one"
)


@dataclass(frozen=True, slots=True)
class Detached:
    """The person pressed the detach keys or hung up; the terminal goes on."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The terminal's program ended: exactly one of `code` and `signal` (a name or number)."""

    code: int | None
    signal: str | None


@dataclass(frozen=True, slots=True)
class Lost:
    """End of a connection that a retry would not restore; `exit_code` as in `exits`."""

    message: str
    exit_code: int


@dataclass(frozen=True, slots=True)
class Signalled:
    """End by a signal to this process."""

    number: int


Ending: TypeAlias = Detached | Ended | Lost | Signalled
