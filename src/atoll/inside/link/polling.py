"""The loop: parts say what to poll and when to act, and nothing here knows what they do."""

import select
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

NEVER = float("inf")
Watch = tuple[int, int, Callable[[int], None]]
"""A descriptor, the events of poll(2) to look for, and what to call with those that came."""


class Part(Protocol):
    """A part of the program that waits for descriptors and for times."""

    def watched(self) -> Iterator[Watch]:
        """Yield what to poll; a descriptor of which nothing is wanted is left out."""
        ...

    def due(self) -> float:
        """Return the time of the next `act`, by `time.monotonic`."""
        ...

    def act(self, now: float) -> None:
        """Do what is due. Called before each poll."""
        ...


def run(parts: Sequence[Part]) -> None:
    """Serve the parts until one of them raises."""
    while True:
        now = time.monotonic()
        for part in parts:
            part.act(now)
        poll = select.poll()
        called: dict[int, Callable[[int], None]] = {}
        for part in parts:
            for fd, events, call in part.watched():
                poll.register(fd, events)
                called[fd] = call
        due = min(part.due() for part in parts)
        wait = None if due == NEVER else max(0.0, due - time.monotonic()) * 1000 + 1
        for fd, seen in poll.poll(wait):
            called[fd](seen)
