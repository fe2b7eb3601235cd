"""A projection: a read model that is derived from the log, event by event.

Pure. The state of a stream is a text that only events of that stream change, so the same events
always give the same text. It holds nothing that is not in the log.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from atoll.domain.event import Event


@dataclass(frozen=True, slots=True)
class ModelState:
    """The state of one stream in a read model, and the position of the event that it is after.
    `body` is None once an event ended it."""

    body: str | None
    position: int


@dataclass(frozen=True, slots=True)
class StoredModel:
    """The rows of one stream: its state, None where it ended, and its snapshot, if events before
    that were removed."""

    state: ModelState | None
    snapshot: ModelState | None


@dataclass(frozen=True, slots=True)
class Projection:
    """A read model called `name`.

    `fold` returns the state of a stream after one of its events, of the `kinds` alone. Before the
    first one the state is None. It returns None only for an event that ends the state whatever it
    was: nothing is kept of a stream without a state, not even its position.
    """

    name: str
    kinds: frozenset[str]
    fold: Callable[[str | None, Event], str | None]

    def after(self, state: ModelState | None, events: Iterable[Event]) -> ModelState | None:
        """Return the state of a stream after these events of it, in their order. Events that the
        state already has, and other kinds, change nothing."""
        for event in events:
            done = state is not None and event.position <= state.position
            if not done and event.event_type in self.kinds:
                body = self.fold(None if state is None else state.body, event)
                state = ModelState(body, event.position)
        return state
