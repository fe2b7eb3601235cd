"""The doors' audit: every request that passed, and refusals merged into few entries.

A new refusal is written and announced at once, because a person may wonder why a request fails.
Equal refusals are counted for a minute and written as one entry, because a program inside could
repeat them without end and every entry becomes a stored event. Refusals that always differ are
merged after a burst. The doors decide what is refused.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic

from atoll.runtime.clock import timestamp
from atoll.runtime.doors.broker.call_audit import REFUSING
from atoll.runtime.journal.journal import Journal

SAME_AGAIN_SECONDS = 60.0
BURST = 30
"""New refusals that are written one by one."""
NEW_PER_MINUTE = 2.0
"""The rate at which the burst refills. Without this bound, a new host name each second would fill
the log."""
VARIOUS = "various"
_SUBJECT = ("door", "host", "port", "code", "provider", "path_class", "outcome", "secret")
_SUMMED = ("bytes_in", "bytes_out")
_UNREADABLE_STEP = "read"
"""The step of unreadable requests at the broker, which are not announced to a person."""

Payload = Mapping[str, object]


@dataclass(slots=True)
class _Count:
    """The refusals of one subject since its entry was written."""

    kind: str
    until: float
    various: bool = False
    times: int = 0
    first_at: str = ""
    last_at: str = ""
    last: Payload = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)

    def add(self, payload: Payload) -> None:
        """Count one more refusal."""
        now = timestamp()
        self.times += 1
        self.first_at, self.last_at = self.first_at or now, now
        self.last = payload
        for name in _SUMMED:
            value = payload.get(name)
            if isinstance(value, int):
                self.sums[name] = self.sums.get(name, 0) + value

    def entry(self) -> dict[str, object]:
        """Return the payload of one entry for all counted refusals."""
        summary = {"times": self.times, "first_at": self.first_at, "last_at": self.last_at}
        if not self.various:
            return {**self.last, **self.sums, **summary}
        names = ("door", "step")
        last = {name: self.last[name] for name in names if name in self.last}
        subject = {name: self.last[name] for name in _SUBJECT[1:] if self.last.get(name)}
        name = "outcome" if self.kind == "door.request" else "code"
        return {**last, name: VARIOUS, "last": subject, **self.sums, **summary}


class Refusals:
    """An `Audit` over the journal of one sandbox. `clock` is monotonic, in seconds."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._counts: dict[tuple[object, ...], _Count] = {}
        self._left = float(BURST)
        self._left_at = clock()
        self._counted = asyncio.Event()

    def __call__(self, kind: str, payload: Payload) -> int:
        """Write an entry, or count a refusal. Returns the number of the last entry."""
        if not _is_refusal(kind, payload):
            return self._journal.append(kind, payload)
        self.settle()
        subject = (kind, *(payload.get(name) for name in _SUBJECT))
        count = self._counts.get(subject)
        if count is None and self._take():
            self._counts[subject] = _Count(kind, self._clock() + SAME_AGAIN_SECONDS)
            number = self._journal.append(kind, payload)
            if payload.get("step") != _UNREADABLE_STEP:
                self._journal.alert()
            return number
        if count is None:
            count = self._various(kind, payload)
        count.add(payload)
        self._counted.set()
        # A request at a door counts as activity of the sandbox, even if it is not written.
        self._journal.note(kind)
        return self._journal.last

    def settle(self, *, last: bool = False) -> None:
        """Write the refusals that were counted for a minute, or all of them with `last`."""
        now = self._clock()
        for subject, count in list(self._counts.items()):
            if last or now >= count.until:
                del self._counts[subject]
                if count.times:
                    self._journal.append(count.kind, count.entry())

    async def run(self) -> None:
        """Write counted refusals after a minute even if no further one comes. Never returns."""
        while True:
            await self._counted.wait()
            self._counted.clear()
            await asyncio.sleep(SAME_AGAIN_SECONDS)
            self.settle()

    def _take(self) -> bool:
        """Take one entry of the burst. Returns False when it is used up."""
        now = self._clock()
        refilled = (now - self._left_at) * NEW_PER_MINUTE / 60
        self._left, self._left_at = min(BURST, self._left + refilled), now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def _various(self, kind: str, payload: Payload) -> _Count:
        """Return the common count of a door's refusals after the burst."""
        fresh = _Count(kind, self._clock() + SAME_AGAIN_SECONDS, various=True)
        return self._counts.setdefault((kind, payload.get("door")), fresh)


def _is_refusal(kind: str, payload: Payload) -> bool:
    return kind == "door.refused" or (
        kind == "door.request"
        and payload.get("door") == "broker"
        and payload.get("step") in REFUSING
    )
