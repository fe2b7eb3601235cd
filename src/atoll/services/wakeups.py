"""Wake-ups between replicas: a message on a live channel says that something changed, not what.

Whoever is woken reads the store, so a message that is forged, doubled or lost costs a look and
nothing else. Polling goes on as the floor, and a flood wakes ten times a second at most.
"""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from atoll.domain.errors import LimitReached
from atoll.domain.ids import OrgId
from atoll.ports import Clock
from atoll.ports.bus import LiveChannels, LiveSubscription

LEAST_SECONDS = 0.1
"""The time between two wake-ups."""


class Wakeup:
    """The part of one replica that waits on a channel; without a subscription it polls."""

    def __init__(self, clock: Clock, subscription: LiveSubscription | None) -> None:
        self._clock = clock
        self._subscription = subscription

    async def wait(self, seconds: float) -> None:
        """Return once a message came, and after so many seconds in any case."""
        floor = self._clock.now() + timedelta(seconds=seconds)
        if self._subscription is None:
            await self._clock.sleep_until(floor)
            return
        await self._clock.sleep_until(self._clock.now() + timedelta(seconds=LEAST_SECONDS))
        async with asyncio.TaskGroup() as tasks:
            waits: set[asyncio.Task[object]] = {
                tasks.create_task(self._subscription.receive()),
                tasks.create_task(self._clock.sleep_until(floor)),
            }
            _, rest = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()


class Wakeups:
    """Wake-ups over live channels, each channel in one organization."""

    def __init__(self, live: LiveChannels | None, clock: Clock) -> None:
        self._live = live
        self._clock = clock

    def send(self, org_id: OrgId, channel: str) -> None:
        """Wake who waits on a channel of an organization. Never waits; an organization that sends
        too much wakes nobody, and the others find the change by polling."""
        try:
            if self._live is not None:
                self._live.publish(org_id, channel, b"")
        except LimitReached:
            return

    @contextmanager
    def waiting(self, org_id: OrgId, channel: str) -> Iterator[Wakeup]:
        """Wait on a channel until the context is left."""
        with ExitStack() as stack:
            subscription = None
            try:
                if self._live is not None:
                    subscription = stack.enter_context(self._live.subscribe(org_id, channel))
            except LimitReached:
                pass  # polling will do
            yield Wakeup(self._clock, subscription)
