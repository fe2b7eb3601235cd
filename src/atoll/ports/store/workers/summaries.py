"""Rows of the read model `worker_summaries`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from atoll.domain.ids import WorkerKey
from atoll.domain.workers.summary import Progress


class WorkerSummaryRows(Protocol):
    """Rows with the progress of each worker's summary. Only the process that leads writes them."""

    async def of(self, keys: Sequence[WorkerKey]) -> Mapping[WorkerKey, Progress]:
        """Return the progress of these workers, by key; one that is not stored is missing."""
        ...

    async def behind(self, limit: int) -> list[Progress]:
        """Return everybody's workers whose summary is behind, at most so many, by key."""
        ...

    async def put(self, progress: Progress) -> None:
        """Store that the summary of a worker has the events up to `newest`."""
        ...

    async def total(self) -> Progress:
        """Return the sums over everybody's workers, under an empty key."""
        ...

    async def clear(self) -> None:
        """Remove every summary: they are derived anew."""
        ...
