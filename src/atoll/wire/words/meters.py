"""Words of meters, prices and budgets: kinds of use, their units, and how a quantity is known."""

from enum import StrEnum
from typing import Final


class MeterKind(StrEnum):
    """The kind of what is used. `running`, `paused` (asleep) and `stopped` are the time in that
    state, `host` a part of a host's time by the room reserved on it, `pool` the time of an
    environment that waits in a pool. `disk` is the workspace. Tokens read from a provider's cache
    are `tokens_cached` alone."""

    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"
    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    SNAPSHOTS = "snapshots"
    GPU = "gpu"
    CREATION = "creation"
    BYTES_IN = "bytes_in"
    BYTES_OUT = "bytes_out"
    TOKENS_READ = "tokens_read"
    TOKENS_WRITTEN = "tokens_written"
    TOKENS_CACHED = "tokens_cached"
    HOST = "host"
    POOL = "pool"


class Unit(StrEnum):
    """The unit of a quantity. A core second is a core for a second, a GiB second 2**30 bytes."""

    SECOND = "second"
    CORE_SECOND = "core_second"
    GIB_SECOND = "gib_second"
    COUNT = "count"
    BYTE = "byte"
    TOKEN = "token"  # noqa: S105 - a unit, no secret


class Source(StrEnum):
    """The source of a quantity: `measured` here, `declared` as what was reserved, or as the
    `vendor` reports it."""

    MEASURED = "measured"
    DECLARED = "declared"
    VENDOR = "vendor"


class Basis(StrEnum):
    """The basis of a quantity: what was `allocated`, or what was `used` of it."""

    ALLOCATED = "allocated"
    USED = "used"


MAX_BUDGETS: Final = 500
"""The number of budgets of one organization."""

MAX_BUDGET_MICROS: Final = 10**15
"""The largest amount of a budget. What a program that keeps numbers as doubles reads is exact."""

MAX_WARNINGS: Final = 5
"""The number of percents at which one budget warns."""

MAX_SUBJECT: Final = 200
"""The length of a budget's subject."""


class BudgetScope(StrEnum):
    """The scope of a budget: what spends it. `person` are the sandboxes of a person, `consumer`
    those made for a harness, or for one session, run or job of it."""

    ORGANIZATION = "organization"
    PERSON = "person"
    AGENT = "agent"
    CONSUMER = "consumer"
    SANDBOX = "sandbox"


class BudgetPeriod(StrEnum):
    """The time that a budget's amount is for: all time, or each day or month in UTC."""

    TOTAL = "total"
    DAY = "day"
    MONTH = "month"


class AtLimit(StrEnum):
    """The consequence of a budget that is spent: `warn` shows it and writes an event, `refuse` also
    refuses new sandboxes and requests to models that would spend it."""

    WARN = "warn"
    REFUSE = "refuse"
