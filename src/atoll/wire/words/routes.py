"""Words and bounds of routes."""

from enum import StrEnum
from typing import Final

MAX_NAMED: Final = 32
"""The backends that a policy or an allowlist names."""

MAX_READY_MS: Final = 24 * 3600 * 1000
MAX_PLACES: Final = 1000


class ExecutionMode(StrEnum):
    """The kind of machine: a person's own, while it is linked, or one of a backend's."""

    DESKTOP = "desktop"
    SANDBOX = "sandbox"


class Strategy(StrEnum):
    """An order of candidates; ties go by declared order, then `ext.namespaces` comes first, then
    by name.

    `desktop_preferred`: the person's own machine, while it is linked, then as
    `prefer-self-hosted`: our own machines first. `lowest-cost`: by declared price.
    `lowest-latency`: by the measured median until ready. `explicit`: the one that is named, and
    never another.
    """

    DESKTOP_PREFERRED = "desktop_preferred"
    PREFER_SELF_HOSTED = "prefer-self-hosted"
    LOWEST_COST = "lowest-cost"
    LOWEST_LATENCY = "lowest-latency"
    EXPLICIT = "explicit"


class Breaker(StrEnum):
    """`open`: left out for a while. `half-open`: that while is over, and one attempt may tell."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"
