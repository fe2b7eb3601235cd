"""The Bus port: announcements of new events to waiting readers.

The bus carries no events, only "look again": the log is the truth, so a lost or doubled
announcement costs time, never an event.
"""

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol


class Listener(Protocol):
    """Subscription of one waiting reader."""

    async def wait(self) -> None:
        """Return once something was announced since the last return (or since listening)."""
        ...


class Bus(Protocol):
    """Announcements by stream name (`sandbox:<id>`, `auth`, …)."""

    def announce(self, streams: Iterable[str]) -> None:
        """Report that these streams have new events. Never waits."""
        ...

    def listen(self, stream: str | None = None) -> AbstractContextManager[Listener]:
        """Listen to one stream, or to all. Listen first, then read, then wait: no gap."""
        ...
