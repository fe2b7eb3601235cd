"""How many records somebody hostile may cause: a burst, then one a second; the rest is counted.

Pure. What a sandbox does at a door is written down and kept, so without a bound a loop
inside would fill the host's disk.
"""

BURST = 300
PER_SECOND = 1.0


class AuditBudget:
    """A token bucket over seconds of a steady clock that comes in as a value."""

    __slots__ = ("_at", "_left", "_missed")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left = float(BURST)
        self._missed = 0

    @property
    def missed(self) -> int:
        """How many were not recorded since the last one that was."""
        return self._missed

    def affords(self, now: float) -> bool:
        """Whether one more may be recorded now."""
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        return self._left >= 1

    def take(self, now: float) -> int | None:
        """How many were not recorded before this one; None when this one is not either."""
        if not self.affords(now):
            self._missed += 1
            return None
        self._left -= 1
        return self.told()

    def told(self) -> int:
        """How many were not recorded, which is said now."""
        missed, self._missed = self._missed, 0
        return missed
