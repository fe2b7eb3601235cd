"""Words and bounds of logins of agents at their vendors."""

from enum import IntEnum, StrEnum
from typing import Final

MAX_PASTED: Final = 8192


MAX_EXPOSED: Final = 20
"""The bound on the sandboxes and profiles that one login is exposed to."""


class LoginMethod(IntEnum):
    """The method of a login, by the numbers that clients send."""

    BROWSER = 0
    DEVICE = 1
    API_KEY = 2


class LoginState(StrEnum):
    """The state of a login. Of the first three each can change; the others are final."""

    REQUESTED = "requested"
    PENDING = "pending"
    READY = "ready"
    DENIED = "denied"
    EXPIRED = "expired"
    FAILED = "failed"
    REVOKED = "revoked"
