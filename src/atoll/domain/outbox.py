"""The outbox: how far the log was published to a stream elsewhere, and where publishing goes on.

Pure. The stream's own last message takes precedence over the saved cursor, because both a crash
after publishing and a stream that lost its end leave the cursor wrong.
"""

from dataclasses import dataclass

from atoll.domain.ids import EventId


@dataclass(frozen=True, slots=True)
class Cursor:
    """An event of the log at `position`, which the stream holds as its message `sequence`."""

    position: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Tip:
    """The end of a stream: the number of its last message, and the event that it holds.

    `position` and `event_id` are None when that message is no longer kept, or when there was none.
    """

    sequence: int
    position: int | None = None
    event_id: EventId | None = None


@dataclass(frozen=True, slots=True)
class Resumption:
    """A place to go on: after `skip` further events of the log after `position`."""

    position: int
    skip: int = 0


def resume(tip: Tip, cursor: Cursor | None) -> Resumption:
    """Return where to go on publishing.

    Every event is one message. So when the last message is gone, the number of messages since the
    cursor is the number of events to skip. A stream with fewer messages than the cursor counts was
    made anew, and receives the whole log.
    """
    if tip.position is not None:
        return Resumption(tip.position)
    if cursor is None or tip.sequence < cursor.sequence:
        return Resumption(0)
    return Resumption(cursor.position, tip.sequence - cursor.sequence)
