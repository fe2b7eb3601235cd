"""Words and bounds of terminals, commands and files."""

from enum import StrEnum
from typing import Final

MAX_ARGV: Final = 1000
MAX_ENV: Final = 1000
MAX_TEXT: Final = 131_072
MAX_PATH: Final = 4096
MIN_RING_BYTES: Final = 64 * 1024
MAX_RING_BYTES: Final = 2 * 1024 * 1024
MAX_OUTPUT_BYTES: Final = 64 * 1024 * 1024

MAX_MARKS: Final = 500
"""The marks of a terminal that are kept."""


class Strictness(StrEnum):
    """The people whom the lock stops while the agent works: everybody but the owner, or
    everybody."""

    OWNER = "owner"
    STRICT = "strict"


class Shade(StrEnum):
    """The background that a person works on. Programs that nobody looks at yet are told it."""

    LIGHT = "light"
    DARK = "dark"


class Role(StrEnum):
    """The role of a client: it may watch; request control; take it."""

    VIEWER = "viewer"
    CONTROLLER = "controller"
    OWNER = "owner"
