"""The retention of events: by age in every stream, and by number in those of sandboxes.

Pure. The oldest events of a stream go first. The newest one always stays, so that numbers in a
stream and positions in the log never begin again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.event import SANDBOX_STREAMS

HELD = timedelta(days=7)
"""The time for which events are kept for their readers, beyond the age at which they are due."""


@dataclass(frozen=True, slots=True)
class StreamSpan:
    """The oldest event of a stream that is kept, and the number of its newest one."""

    stream: str
    oldest_seq: int
    oldest_at: datetime
    newest_seq: int


@dataclass(frozen=True, slots=True)
class Removal:
    """The events of a stream to remove.

    They are the oldest, as long as each is older than `before` or has a number below `below`; at
    most `limit` at once, and never the newest, nor one after the position `until`.
    """

    stream: str
    before: datetime
    below: int
    limit: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class EventRetention:
    """The bounds on kept events: `age` in every stream, `most` events of each sandbox; None bounds
    nothing."""

    age: timedelta | None
    most: int | None

    @property
    def held(self) -> "EventRetention":
        """Return the bounds on events that a reader has not read: a week, and as many again."""
        age = None if self.age is None else self.age + HELD
        return EventRetention(age, None if self.most is None else 2 * self.most)

    def due(
        self, span: StreamSpan, now: datetime, *, limit: int, until: int | None = None
    ) -> Removal | None:
        """Return the events to remove from a stream, None for none."""
        before = datetime.min.replace(tzinfo=now.tzinfo) if self.age is None else now - self.age
        counted = self.most is not None and span.stream.startswith(SANDBOX_STREAMS)
        below = span.newest_seq - (self.most or 0) + 1 if counted else 0
        kept = span.oldest_at >= before and span.oldest_seq >= below
        if kept or span.oldest_seq == span.newest_seq:
            return None
        return Removal(span.stream, before, below, limit, until)
