"""What the doors write down, and that a refusal nobody has heard of yet is told at once.

A person wonders why something does not work now, not when a journal is next looked at. The same
refusal again within a minute waits for that look, since whoever is inside could knock without
end. What is refused is the doors' own business.
"""

from collections.abc import Callable, Mapping
from time import monotonic

from atoll.runtime.journal import Journal

SAME_AGAIN_SECONDS = 60.0
MAX_NEW_PER_MINUTE = 30
_SUBJECT = ("door", "host", "port", "code", "provider", "outcome")
_JUDGED = frozenset({"route", "judge", "admit"})
"""Steps at which the broker says no by itself."""


class Refusals:
    """An `Audit` over the journal of one sandbox. `clock` is a steady one, in seconds."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = monotonic) -> None:
        self._journal = journal
        self._clock = clock
        self._told: dict[tuple[object, ...], float] = {}

    def __call__(self, kind: str, payload: Mapping[str, object]) -> int:
        """Write it down; the entry's number."""
        number = self._journal.append(kind, payload)
        if _refused(kind, payload) and self._is_new(kind, payload):
            self._journal.alert()
        return number

    def _is_new(self, kind: str, payload: Mapping[str, object]) -> bool:
        now = self._clock()
        subject = (kind, *(payload.get(name) for name in _SUBJECT))
        self._told = {one: at for one, at in self._told.items() if now - at < SAME_AGAIN_SECONDS}
        if subject in self._told or len(self._told) >= MAX_NEW_PER_MINUTE:
            return False
        self._told[subject] = now
        return True


def _refused(kind: str, payload: Mapping[str, object]) -> bool:
    return kind == "door.refused" or (
        kind == "door.request"
        and payload.get("door") == "broker"
        and payload.get("step") in _JUDGED
    )
