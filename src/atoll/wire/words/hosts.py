"""Words and bounds of hosts."""

from enum import StrEnum
from typing import Final

MAX_HOSTS: Final = 200
"""Every admission reads all of them."""

MAX_LABELS: Final = 50
MAX_COUNT: Final = 1_000_000
MAX_CORES: Final = 1_000_000
MAX_MEMORY_MB: Final = 1 << 40
MAX_OVERCOMMIT: Final = 100.0

MAX_MICROS: Final = 10**15
"""The highest price of an hour, in millionths of a currency."""

MAX_POOLED: Final = 200
"""The most that one pool may hold."""

MAX_POOLS: Final = 100
"""The pools of one organization."""

MAX_EXTENSIONS: Final = 64
MAX_FINDINGS: Final = 200

MAX_STRAYS: Final = 1000
"""Strays in one answer; the others are counted."""


class HostKind(StrEnum):
    """The way to a host. A `desktop` is a person's own machine, while it is linked."""

    LOCAL = "local"
    SSH = "ssh"
    DESKTOP = "desktop"


class HostState(StrEnum):
    """The state of a host. A draining one takes no new sandbox; those on it go on."""

    ACTIVE = "active"
    DRAINING = "draining"
