"""The Clock port: the present time, and waits until a moment."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """A clock: wall time for records, and a wait that tests can advance."""

    def now(self) -> datetime:
        """Return the present, timezone-aware UTC."""
        ...

    async def sleep_until(self, deadline: datetime) -> None:
        """Return once `now() >= deadline`. Cancellable."""
        ...
