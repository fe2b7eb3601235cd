"""What the doors write down: what passed one by one, the same refusal once a minute with a number.

A person wonders why something does not work now, not when a journal is next looked at: a refusal
nobody has heard of yet is told at once. The same again is counted, since whoever is inside could
knock without end, and each entry would be an event that is kept: it stands in the entry of its
minute's end, with when it came first and last. What is refused is the doors' own business.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from atoll.runtime.clock import timestamp
from atoll.runtime.journal import Journal

SAME_AGAIN_SECONDS = 60.0
MAX_NEW_PER_MINUTE = 30
_SUBJECT = ("door", "host", "port", "code", "provider", "path_class", "outcome", "secret")
_JUDGED = frozenset({"route", "judge", "admit"})
"""Steps at which the broker says no by itself."""

Subject = tuple[object, ...]


@dataclass(slots=True)
class _Again:
    """The same refusal since its entry was written: how often, and the last of them."""

    until: float
    times: int = 0
    first_at: str = ""
    last_at: str = ""
    payload: Mapping[str, object] | None = None
    sums: dict[str, int] = field(default_factory=dict)

    def count(self, payload: Mapping[str, object]) -> None:
        """Once more. What an audit left out before it and sums up is not lost."""
        now = timestamp()
        self.times += 1
        self.first_at, self.last_at = self.first_at or now, now
        self.payload = payload
        for name, value in payload.items():
            if name.startswith("unrecorded") and isinstance(value, int):
                self.sums[name] = self.sums.get(name, 0) + value


class Refusals:
    """An `Audit` over the journal of one sandbox. `clock` is a steady one, in seconds."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._told: dict[Subject, _Again] = {}
        self._counted = asyncio.Event()

    def __call__(self, kind: str, payload: Mapping[str, object]) -> int:
        """Write it down, or count it; the number of the last entry."""
        if not _refused(kind, payload):
            return self._journal.append(kind, payload)
        self.settle()
        subject = (kind, *(payload.get(name) for name in _SUBJECT))
        many = subject not in self._told and len(self._told) >= MAX_NEW_PER_MINUTE
        if many:
            # Ever new hosts are one subject: what differs is not told of each.
            subject = (kind, payload.get("door"))
        again = self._told.get(subject)
        if again is None:
            self._told[subject] = _Again(self._clock() + SAME_AGAIN_SECONDS)
            number = self._journal.append(kind, payload)
            if not many:
                self._journal.alert()
            return number
        again.count(payload)
        self._counted.set()
        return self._journal.last

    def settle(self, *, last: bool = False) -> None:
        """Write down what was counted for a minute; `last` what was counted at all."""
        now = self._clock()
        for subject, again in list(self._told.items()):
            if not last and now < again.until:
                continue
            del self._told[subject]
            if again.payload is not None:
                said = {"times": again.times, "first_at": again.first_at, "last_at": again.last_at}
                self._journal.append(str(subject[0]), {**again.payload, **again.sums, **said})

    async def run(self) -> None:
        """Settle a minute after something was counted, forever."""
        while True:
            await self._counted.wait()
            self._counted.clear()
            await asyncio.sleep(SAME_AGAIN_SECONDS)
            self.settle()


def _refused(kind: str, payload: Mapping[str, object]) -> bool:
    return kind == "door.refused" or (
        kind == "door.request"
        and payload.get("door") == "broker"
        and payload.get("step") in _JUDGED
    )
