"""What a peer of a vendor does wrong on purpose, and a record of what it was asked."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum


class Fault(Enum):
    """What happens to a call instead of its answer."""

    BUSY = "429 at once, nothing is done"
    BROKEN = "500 at once, nothing is done"
    REFUSED = "404 at once: there is no such template"
    LOST = "it is done, and the connection ends without an answer"
    HALF = "it is done, and half of the answer comes"
    HANGS = "nothing is done, and no answer ever comes"


@dataclass(frozen=True)
class Call:
    """A call that came, with all its bytes."""

    name: str
    text: str


@dataclass
class Faults:
    """The faults to come, by the name of a call; `calls` are those that came. `gate` runs before
    and after each one, in a thread, and may block it."""

    planned: dict[str, list[Fault]] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    retry_after: int = 0
    gate: Callable[[str, str], None] | None = None
    released: threading.Event = field(default_factory=threading.Event)

    def plan(self, name: str, *faults: Fault) -> None:
        """Have the next calls of this name go wrong."""
        self.planned.setdefault(name, []).extend(faults)

    def next(self, name: str) -> Fault | None:
        """Return the fault of a call that has come."""
        waiting = self.planned.get(name)
        return waiting.pop(0) if waiting else None

    def count(self, name: str) -> int:
        """How many calls of this name came."""
        return Counter(call.name for call in self.calls)[name]

    def holds(self, needle: str) -> bool:
        """Whether any call held this text."""
        return any(needle in call.text for call in self.calls)
