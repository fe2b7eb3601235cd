"""Time, as something that is handed in."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, and a wait that tests can turn forward."""

    def now(self) -> datetime:
        """Return the present, timezone-aware UTC."""
        ...

    async def sleep_until(self, deadline: datetime) -> None:
        """Return once `now() >= deadline`. Cancellable."""
        ...
