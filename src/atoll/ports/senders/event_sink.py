"""The EventSink port: a stream elsewhere that receives every committed event once, in order."""

from collections.abc import Sequence
from typing import Protocol

from atoll.domain.event import Event
from atoll.domain.outbox import Tip


class EventSink(Protocol):
    """A stream of messages, numbered from 1. Every method raises `Unavailable` while the stream
    cannot be reached, and `Failed` when it refuses for good."""

    @property
    def name(self) -> str:
        """Return the name of the stream."""
        ...

    async def tip(self) -> Tip:
        """Return the end of the stream, which is made first if there is none."""
        ...

    async def append(self, events: Sequence[Event], *, after: int) -> int:
        """Append events as the messages after number `after`, and return the number of the last.

        Raises `Conflict` when the stream does not end there, because another publisher was faster.
        After any error the first events of the list may be in the stream, in order and without a
        gap: ask for the `tip`.
        """
        ...
