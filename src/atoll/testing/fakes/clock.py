"""A clock for unit tests: no test waits for time to pass."""

import asyncio
from datetime import UTC, datetime, timedelta


class VirtualClock:
    """`ports.clock.Clock` that stands still until a test turns it forward."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        self._sleepers: list[tuple[datetime, asyncio.Event]] = []

    def now(self) -> datetime:
        """See the port."""
        return self._now

    def awaited(self, seconds: float) -> bool:
        """Report whether somebody sleeps for exactly so many more seconds."""
        deadline = self._now + timedelta(seconds=seconds)
        return any(due == deadline for due, _ in self._sleepers)

    async def sleep_until(self, deadline: datetime) -> None:
        """See the port."""
        if deadline <= self._now:
            await asyncio.sleep(0)
            return
        event = asyncio.Event()
        self._sleepers.append((deadline, event))
        await event.wait()

    def turn(self, seconds: float) -> None:
        """Let so many seconds pass, and wake those who waited for them."""
        self._now += timedelta(seconds=seconds)
        for deadline, event in self._sleepers:
            if deadline <= self._now:
                event.set()
        self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[0] > self._now]
