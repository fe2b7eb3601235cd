"""A stream of events in memory."""

from collections.abc import Sequence

from atoll.domain.errors import AtollError, Conflict, Unavailable
from atoll.domain.event import Event
from atoll.domain.outbox import Tip


class FakeEventSink:
    """A `ports.senders.event_sink.EventSink` that keeps what it received. Raises `failure` while it
    is set. `forget` drops all messages, as their end of life does."""

    def __init__(self, name: str = "EVENTS") -> None:
        self.events: list[Event] = []
        self.failure: AtollError | None = None
        self._name = name
        self._kept_from = 0

    @property
    def name(self) -> str:
        """See the port."""
        return self._name

    def forget(self) -> None:
        """Drop every message, but keep counting."""
        self._kept_from = len(self.events)

    async def tip(self) -> Tip:
        """See the port."""
        self._fail()
        if len(self.events) == self._kept_from:
            return Tip(len(self.events))
        last = self.events[-1]
        return Tip(len(self.events), last.position, last.id)

    async def append(self, events: Sequence[Event], *, after: int) -> int:
        """See the port."""
        self._fail()
        if after != len(self.events):
            raise Conflict(f"the stream ends at {len(self.events)}, not at {after}")
        ids = {event.id for event in self.events}
        for event in events:
            if event.id in ids:
                raise Unavailable("the stream holds this event")
            self.events.append(event)
        return len(self.events)

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure
