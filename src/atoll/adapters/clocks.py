"""The host's clock."""

import asyncio
from datetime import UTC, datetime

LONGEST_SLEEP_SECONDS = 30.0
"""The longest single sleep. Wall time may be set meanwhile; a look at the clock in between bounds
the error."""


class SystemClock:
    """The `ports.clock.Clock` on wall time."""

    def now(self) -> datetime:
        """See the port."""
        return datetime.now(UTC)

    async def sleep_until(self, deadline: datetime) -> None:
        """See the port."""
        while (left := (deadline - self.now()).total_seconds()) > 0:  # noqa: ASYNC110 - it is a clock
            await asyncio.sleep(min(left, LONGEST_SLEEP_SECONDS))
