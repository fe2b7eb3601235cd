"""Settings of workers."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

import msgspec


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of workers.

    `worker_event_days`: how long events of workers, which hold what agents said, are kept; 0 keeps
    all.
    """

    worker_event_days: Annotated[int, msgspec.Meta(ge=0, le=36500)] = 30

    @property
    def retention(self) -> timedelta | None:
        """Return how long events of workers are kept, None for good."""
        return timedelta(days=self.worker_event_days) if self.worker_event_days else None
