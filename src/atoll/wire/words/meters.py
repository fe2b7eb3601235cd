"""Words of meters and prices: kinds of use, their units, and how a quantity is known."""

from enum import StrEnum


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
