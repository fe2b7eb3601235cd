"""The resources that a runtime itself uses, as its contract shows them."""

import msgspec


class OwnUsage(msgspec.Struct, frozen=True):
    """Memory in bytes, processes and threads, each with its limit; null is not counted or not
    bounded."""

    memory_bytes: int
    most_memory_bytes: int | None = None
    tasks: int | None = None
    most_tasks: int | None = None
