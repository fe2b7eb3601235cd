"""The control plane as a runtime sees it: the connections on which the journal is read.

A connection that ends reports nothing to a route, so each is asked whether it is closing when
somebody wants to know.
"""

import asyncio
from collections.abc import Callable

from atoll.domain.terminals.contact import Contact


class ControlPlane:
    """The control plane's presence. Calls its listeners when the control plane reads the journal
    after an absence."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[], None]] = []
        self._contact = Contact()
        self._transports: dict[int, asyncio.BaseTransport] = {}
        self._count = 0

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every absence."""
        self._listeners.append(listener)

    def asked(self, transport: asyncio.BaseTransport, away_seconds: float) -> None:
        """Record that the control plane reads the journal on this connection. `away_seconds` is how
        long drivers are waited for once it is gone."""
        self._look()
        number = self._number_of(transport)
        if self._contact.asked(number, away_seconds):
            for listener in self._listeners:
                listener()

    def cut(self) -> None:
        """Record that the control plane's end of a client's attach session closed without a
        reason."""
        self._transports.clear()
        self._contact.cut()

    def held_until(self, left_at: float) -> float | None:
        """Return as `Contact.held_until` does."""
        self._look()
        return self._contact.held_until(left_at)

    def _number_of(self, transport: asyncio.BaseTransport) -> int:
        """Return the number of a transport; a new transport gets the next number."""
        for number, known in self._transports.items():
            if known is transport:
                return number
        self._count += 1
        self._transports[self._count] = transport
        return self._count

    def _look(self) -> None:
        over = [number for number, transport in self._transports.items() if transport.is_closing()]
        for number in over:
            del self._transports[number]
            self._contact.closed(number)
