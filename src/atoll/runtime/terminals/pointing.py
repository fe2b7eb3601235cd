"""Pointers at one terminal, reported to those who take part: together, ten times a second at most.

`domain.terminals.pointers` keeps the places; here is the clock.
"""

import asyncio

from atoll.domain.terminals.pointers import EVERY_SECONDS, PointerPlace, Pointers
from atoll.runtime.clock import Alarm
from atoll.runtime.terminals.audience import Audience
from atoll.wire.attach import Point, Pointed, Pointer


class Pointing:
    """The pointers of an audience."""

    def __init__(self, audience: Audience) -> None:
        self._audience = audience
        self._pointers = Pointers()
        self._loop = asyncio.get_running_loop()
        self._alarm = Alarm(self._report)
        self._reported_at = 0.0

    def point(self, client: str, message: Point) -> None:
        """Take a client's pointer, or its wish to take part no more."""
        if message.off:
            self.leave(client)
        elif self._pointers.point(client, PointerPlace(message.at, message.selected)):
            self._soon()

    def leave(self, client: str) -> None:
        """Forget a client."""
        if self._pointers.leave(client):
            self._soon()

    def close(self) -> None:
        """Report no more: the terminal has ended."""
        self._alarm.cancel()

    def _soon(self) -> None:
        self._alarm.set(max(self._loop.time(), self._reported_at + EVERY_SECONDS))

    def _report(self) -> None:
        self._reported_at = self._loop.time()
        message = Pointed(
            tuple(
                Pointer(client, place.at, place.selected) for client, place in self._pointers.shown
            )
        )
        for client in self._pointers.clients:
            viewer = self._audience.find(client)
            if viewer is not None:
                viewer.notify(message)
